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
	former     uint64 // how many incarnations of its UID this process has seen before it
	syncPasses uint64 // guarded by Syncer.mu: calls so far
	stage      stage
	decided    plan.Memory // what decisions remember
	kills      *kills      // nil: there were none
	starts     starts
	pulls      map[string]pull   // by image
	messages   map[string]string // by container ID: its termination message
	reported   reported
	kept       kept
	stable     stable
}

// stage is how far an incarnation is.
type stage uint8

const (
	// statusIsOwn: what is published under the UID, if anything is, is of this incarnation.
	statusIsOwn stage = iota
	// statusIsFormer: what is published may still be the status of a previous one.
	statusIsFormer
	// ended: SyncTerminatedPod has returned nil.
	ended
)

// reported is what people were told of, so that they are told once.
type reported struct {
	backOffs   map[string]time.Time // by container: the end of the last back-off
	sandbox    uint32               // the attempt of the last replacement of the sandbox
	mismatches map[string]bool      // by container and field: reported wrongly by the runtime
}

// kept is what Config.ContainerStates and Config.TerminalStatuses have of a UID, as far as
// this incarnation knows.
type kept struct {
	containers *remembered // nil: a process before this one has not been asked
	probed     bool        // the prober has been told what was published before
	published  bool        // this process has published a status
	ending     saved
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
	case l.worker != worker || l.stage == ended:
		l = &incarnation{worker: worker, number: max(newest, l.number) + 1, former: l.former + 1, stage: statusIsFormer, syncPasses: l.syncPasses}
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
	if l.former > 0 || len(pod.Spec.Containers) > 0 && plan.IsAnothers(status, newest, pod) {
		l.number, l.stage = newest+1, statusIsFormer
	}
}

// end is called when nothing is left to do for a life. Its number is kept: a
// life to come must not be mistaken for it.
func (s *Syncer) end(l *incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*l = incarnation{worker: l.worker, number: l.number, former: l.former, syncPasses: l.syncPasses, stage: ended}
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
			s.refresher.forget(uid)
		}
	}
}
