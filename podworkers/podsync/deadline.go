package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
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
	// told says that its preStop hook has been begun: it is not begun again,
	// whatever came of it (I32).
	told bool
}

// killing finds the kill of a container that is under way, or begins it.
func (l *incarnation) killing(id string, by time.Time) *kill {
	k := l.kills[id]
	if k == nil {
		k = &kill{by: by}
		if l.kills == nil {
			l.kills = make(map[string]*kill)
		}
		l.kills[id] = k
	}
	if by.Before(k.by) {
		k.by = by
	}
	return k
}

// forgetKills forgets the kills of containers that are not to be stopped any more, or
// are gone: should one of them have to end one day, it is another kill.
func (v *syncPass) forgetKills(d *plan.Decision) {
	if len(v.incarnation.kills) == 0 {
		return
	}
	wanted := make(map[string]bool)
	for i := range d.Steps {
		if d.Steps[i].Op == plan.StopPod {
			return
		}
		wanted[d.Steps[i].ID] = true
	}
	for id := range v.incarnation.kills {
		if !wanted[id] {
			delete(v.incarnation.kills, id)
		}
	}
}

// record is the runtime's record of a container, as the sync pass knows it. Nil:
// there is none.
func (v *syncPass) record(id string) *runtime.ContainerStatus {
	for i := range v.status.Containers {
		if c := &v.status.Containers[i]; c.ID == id {
			return c
		}
	}
	return nil
}
