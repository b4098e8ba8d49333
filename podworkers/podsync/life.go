package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// incarnation is the state of one incarnation of a UID. Only the call for the UID uses it, except for the
// fields that Forget reads.
type incarnation struct {
	worker     uint64 // its number as podworkers counts
	number     uint64 // its number as stamped on sandboxes and containers
	former     uint64 // how many incarnations of its UID this process has seen before it
	syncPasses uint64 // guarded by Syncer.mu: calls so far
	stage      stage
	memory     plan.Memory       // of the last decision, with what was noted since
	killFailed backoff.State     // of the kills that have failed in a row
	pulls      map[string]pull   // by image
	messages   map[string]string // by container ID: its termination message
	reported   reported
	kept       kept
	stable     stable
}

// stage is how far an incarnation is.
type stage uint8

const (
	// statusIsOwn: the stored status of the UID, if there is one, is of this incarnation.
	statusIsOwn stage = iota
	// statusIsFormer: the stored status may be of a previous incarnation.
	statusIsFormer
	// ended: SyncTerminatedPod has returned nil.
	ended
)

// reported has the events that were recorded, so that each is recorded once.
type reported struct {
	backOffs   map[string]time.Time // by container: the end of the last back-off
	sandbox    uint32               // the attempt of the last replacement of the sandbox
	mismatches map[string]bool      // by container and field: reported wrongly by the runtime
}

// kept has what Config.ContainerStates and Config.TerminalStatuses store of a UID, as far as this incarnation
// knows.
type kept struct {
	containers *remembered // nil: Config.ContainerStates has not been read yet
	probed     bool        // the prober has got the status that an earlier process published
	published  bool        // this process has published a status
	ending     saved
}

// saved is what Config.TerminalStatuses stores of a UID, as far as this incarnation knows. Its value only
// grows.
type saved uint8

const (
	formerSaved  saved = iota // perhaps the terminal status of a previous incarnation
	nothingSaved              // nothing: that status was dropped, because this incarnation runs
	saveFailed                // nothing: the terminal status of this incarnation could not be saved
	endSaved                  // the terminal status of this incarnation
)

// pull has the result of the last pulls of an image.
type pull struct {
	backoff  backoff.State
	err      error
	recorded bool // an event was recorded for this back-off
}

// findIncarnation returns the incarnation of a UID for which a call is made, or begins it. The first
// incarnation of a process adopts the newest one that has records: it may be its own from before a
// restart. A later incarnation gets a number above that of any record, so that it owns none of them.
func (s *Syncer) findIncarnation(pod *v1.Pod, worker uint64, status *runtime.PodStatus) *incarnation {
	uid, newest := pod.UID, plan.NewestIncarnation(status)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.lives[uid]
	switch {
	case l == nil:
		l = &incarnation{worker: worker, number: 1}
		l.adoptRecords(newest, pod, status)
		s.mu.lives[uid] = l
	case l.worker != worker || l.stage == ended:
		l = &incarnation{worker: worker, number: max(newest, l.number) + 1, former: l.former + 1, stage: statusIsFormer, syncPasses: l.syncPasses}
		s.mu.lives[uid] = l
	case newest > l.number:
		// Only this process gives numbers. So these records are from before a restart, and the
		// status with which this incarnation began did not show them.
		l.adoptRecords(newest, pod, status)
	}
	l.syncPasses++
	return l
}

// adoptRecords continues the newest incarnation that has records, unless it is of another pod: this
// process has terminated it, or its pod hash differs because the pod was replaced under its UID while no
// agent ran. Then this incarnation owns neither its records nor its stored status. An orphan has no
// hash to compare.
func (l *incarnation) adoptRecords(newest uint64, pod *v1.Pod, status *runtime.PodStatus) {
	l.number = max(newest, l.number)
	if l.former > 0 || len(pod.Spec.Containers) > 0 && plan.BelongsToOtherPod(status, newest, pod) {
		l.number, l.stage = newest+1, statusIsFormer
	}
}

// endIncarnation drops the state of an incarnation when nothing is left to do for it. It keeps the
// numbers, so that the next incarnation gets a higher one.
func (s *Syncer) endIncarnation(l *incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*l = incarnation{worker: l.worker, number: l.number, former: l.former, syncPasses: l.syncPasses, stage: ended}
}

// Forget drops the state of every pod for which keep returns false. Housekeeping calls it now and then,
// concurrently with everything else. keep is called with no lock held. It must return true as long as the
// workers or the runtime know the pod: the next pod would adopt the records of a forgotten UID. A pod
// that is synced meanwhile is kept.
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
