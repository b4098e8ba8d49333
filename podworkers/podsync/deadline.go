package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// minimumGrace is what every container gets between the signal and the kill,
// unless it has already outlived one that the runtime reported (KC-13).
const minimumGrace = 2 * time.Second

// orphanGrace is what an orphan gets whose records do not say more (SP-21).
const orphanGrace = time.Second

// grace is how long a container may take to end, all in all: what the deletion
// says, else the probe whose failure is the reason, else the spec; an override
// replaces it (KC-10, KC-11).
func grace(pod *v1.Pod, probe, override *int64) time.Duration {
	switch {
	case override != nil:
		return podspec.Seconds(*override)
	case pod.DeletionGracePeriodSeconds != nil:
		return podspec.Seconds(*pod.DeletionGracePeriodSeconds)
	case probe != nil:
		return podspec.Seconds(*probe)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return podspec.Seconds(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return minimumGrace
}

// kill is one kill of one container, over all the calls that it takes.
type kill struct {
	// by is when its grace is over: hook, turn and stop share it. It is computed
	// once, and only ever moved to an earlier time (I6, I7).
	by time.Time
	// hookBegun says that the preStop hook has begun. It does not begin again, whether it has
	// succeeded or failed (I32).
	hookBegun bool
}

// kills are those of the containers of a pod.
type kills struct {
	byID         map[string]*kill // by container ID: under way, or failed and to be repeated
	notConfirmed map[string]bool  // by container ID: runs although it was said to be stopped
	failed       backoff.State    // of those that have failed in a row
}

// ensureKills is what is remembered of the kills of a pod from now on.
func (l *incarnation) ensureKills() *kills {
	if l.kills == nil {
		l.kills = new(kills)
	}
	return l.kills
}

// ensureKill finds the kill of a container that is under way, or begins it.
func (l *kills) ensureKill(id string, by time.Time) *kill {
	k := l.byID[id]
	if k == nil {
		k = &kill{by: by}
		if l.byID == nil {
			l.byID = make(map[string]*kill)
		}
		l.byID[id] = k
	}
	if by.Before(k.by) {
		k.by = by
	}
	return k
}

// markNotConfirmed notes a container that runs although it was said to be stopped.
func (l *kills) markNotConfirmed(id string) {
	if l.notConfirmed == nil {
		l.notConfirmed = make(map[string]bool)
	}
	l.notConfirmed[id] = true
}

// forgetKills forgets the kills of containers that are not to be stopped any more, or
// are gone: should one of them have to end one day, it is another kill.
func (p *syncPass) forgetKills(d *plan.Decision) {
	if p.incarnation.kills == nil {
		return
	}
	wanted := make(map[string]bool)
	for i := range d.Steps {
		if d.Steps[i].Op == plan.StopPod {
			return
		}
		wanted[d.Steps[i].ID] = true
	}
	for id := range p.incarnation.kills.byID {
		if !wanted[id] {
			delete(p.incarnation.kills.byID, id)
		}
	}
}
