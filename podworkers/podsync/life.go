package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// incarnation is what is remembered of one incarnation of a UID. Only the call that is made
// for the UID touches it, except for the fields that Forget looks at.
type incarnation struct {
	worker     uint64 // its number as podworkers counts
	number     uint64 // its number as stamped on sandboxes and containers
	ended      bool   // SyncTerminatedPod has returned nil
	syncPasses uint64 // guarded by Syncer.mu: calls so far

	later            bool                   // not the first incarnation of its UID in this process
	fresh            bool                   // a previous incarnation's status may still be published
	reasons          map[string]plan.Reason // by container: why its last start failed
	pulls            map[string]pull        // by image
	messages         map[string]string      // by container ID: its termination message
	stopNotConfirmed map[string]bool        // by container ID: runs although it was said to be stopped
	kills            map[string]*kill       // by container ID: under way, or failed and to be repeated
	// postStartPending are containers, by ID, that were started and whose PostStart
	// hook is not known to have been a success.
	postStartPending map[string]bool
	// refusals are, by container ID, those that the runtime would not start.
	refusals map[string]refusal
	// backedOff are, by container, the ends of the last back-offs that people were told
	// of; replaced is the attempt of the last replacement of the sandbox that they were.
	backedOff map[string]time.Time
	replaced  uint32
	made      map[string]plan.Made // by container: what the newest record was made with
	stops     backoff.State        // of the kills that have failed in a row
	// mismatches are fields, by container, of which people know that the runtime
	// reports them wrongly.
	mismatches map[string]bool
	started    map[string]started // by container: its last start
	looks      uint64             // how often the pod was looked at
	probed     bool               // the prober has been told what was published before
	memory     remembered
	saved      saved // what Config.TerminalStatuses has of the UID
	// decided is what decisions remember.
	decided plan.Memory
}

// saved is what Config.TerminalStatuses has of a UID, as far as this incarnation knows. It only
// grows.
type saved uint8

const (
	formerSaved  saved = iota // perhaps the end of a former incarnation
	nothingSaved              // that was dropped, since this one goes on
	saveFailed                // the end of this one could not be saved
	endSaved                  // the end of this one
)

// refusal is a start that the runtime refuses, since when, and whether for good.
type refusal struct {
	since time.Time
	final bool
}

// pull is how the last pulls of an image went.
type pull struct {
	backoff backoff.State
	err     error
	told    bool // people have been told of this back-off
}

// live finds the incarnation of a UID for which a call is made, or begins it. The
// first one that this process sees takes up the newest that has records, as it
// may be its own from before a restart; a later one gets a higher number than
// any record, so that records of the incarnations before it are nobody's.
func (s *Syncer) live(pod *v1.Pod, worker uint64, status *runtime.PodStatus) *incarnation {
	uid, newest := pod.UID, plan.NewestIncarnation(status)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.lives[uid]
	switch {
	case l == nil:
		l = &incarnation{worker: worker, number: 1}
		l.takeUp(newest, pod, status)
		s.mu.lives[uid] = l
	case l.worker != worker || l.ended:
		l = &incarnation{worker: worker, number: max(newest, l.number) + 1, later: true, fresh: true, syncPasses: l.syncPasses}
		s.mu.lives[uid] = l
	case newest > l.number:
		// Nobody else gives numbers, so these records are from before a restart,
		// and what this incarnation was begun with did not show them.
		l.takeUp(newest, pod, status)
	}
	l.syncPasses++
	return l
}

// takeUp continues the newest incarnation with records, unless it is none of this pod:
// if this process has seen its end, or if its hash is another (the pod was
// replaced under its UID while nobody was there). Then its records are nobody's,
// and neither is what was published of it. An orphan has no hash to compare.
func (l *incarnation) takeUp(newest uint64, pod *v1.Pod, status *runtime.PodStatus) {
	l.number = max(newest, l.number)
	if l.later || len(pod.Spec.Containers) > 0 && plan.IsAnothers(status, newest, pod) {
		l.number, l.fresh = newest+1, true
	}
}

// end is called when nothing is left to do for a life. Its number is kept: a
// life to come must not be mistaken for it.
func (s *Syncer) end(l *incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.ended = true
	l.reasons, l.backedOff, l.made, l.pulls, l.stopNotConfirmed, l.kills, l.postStartPending = nil, nil, nil, nil, nil, nil, nil
	l.messages, l.refusals, l.mismatches, l.started = nil, nil, nil, nil
	l.memory, l.decided = remembered{}, plan.Memory{}
}

// Forget drops what is remembered of every pod for which keep answers false.
// Housekeeping calls it now and then, concurrently with everything else; keep
// is called with no lock held. It must answer true as long as the workers or
// the runtime know the pod: the records of a forgotten UID would be taken for
// those of the pod that comes next. A pod that is visited meanwhile is kept.
func (s *Syncer) Forget(keep func(types.UID) bool) {
	s.mu.Lock()
	seen := make(map[types.UID]uint64, len(s.mu.lives))
	for uid, l := range s.mu.lives {
		seen[uid] = l.syncPasses
	}
	s.mu.Unlock()
	for uid := range seen {
		if keep(uid) {
			delete(seen, uid)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, syncPasses := range seen {
		if l := s.mu.lives[uid]; l != nil && l.syncPasses == syncPasses {
			delete(s.mu.lives, uid)
		}
	}
}

// markStopNotConfirmed notes a container that runs although it was said to be stopped.
func (l *incarnation) markStopNotConfirmed(id string) {
	if l.stopNotConfirmed == nil {
		l.stopNotConfirmed = make(map[string]bool)
	}
	l.stopNotConfirmed[id] = true
}

// refuse notes that the runtime would not start a container, for good or for now. Of
// those that are noted no more than a few are ever there at once.
func (l *incarnation) refuse(id string, now time.Time, final bool) {
	if l.refusals == nil || len(l.refusals) > 100 {
		l.refusals = make(map[string]refusal)
	}
	r, known := l.refusals[id]
	if !known {
		r.since = now
	}
	r.final = r.final || final
	l.refusals[id] = r
}

// refused reports whether a start is not tried any more.
func (l *incarnation) refused(id string, now time.Time) bool {
	r, known := l.refusals[id]
	return known && (r.final || now.Sub(r.since) >= maxStartRefusal)
}
