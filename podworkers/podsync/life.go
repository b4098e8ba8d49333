package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// incarnation is the state of one incarnation of a UID. Only the call for the UID uses it, except for
// the fields that Forget reads.
type incarnation struct {
	workerIncarnation    uint64 // the number that podworkers has for it
	number               uint64 // the number on its sandboxes and containers
	previousIncarnations uint64 // the earlier incarnations of the UID in this process
	calls                uint64 // guarded by Syncer.mu: the number of calls so far
	stage                incarnationStage
	memory               plan.Memory            // the Memory of the last decision and everything recorded since
	killFailed           backoff.State          // the state of killRetry
	pullHistories        map[string]pullHistory // by image name
	messages             map[string]string      // termination messages by container ID
	recordedEvents       recordedEvents
	persisted            persistedState
	stableInput          stableInput
	volumesSetUp         bool                 // Volumes.SetUp has succeeded in this process
	oom                  *oomState            // nil: the counters of the cgroup were not read yet
	valuesReadFailed     bool                 // the last read of the values of the cgroup has failed
	additions            map[string]Additions // by container name: the results of Config.Augment
}

// incarnationStage is how far an incarnation is.
type incarnationStage uint8

const (
	// storedStatusIsOwn: the stored status of the UID, if any, belongs to this incarnation.
	storedStatusIsOwn incarnationStage = iota
	// storedStatusMayBeFormer: the stored status may belong to a previous incarnation.
	storedStatusMayBeFormer
	// incarnationEnded: SyncTerminatedPod or SyncTerminatingRuntimePod has returned nil.
	incarnationEnded
)

// recordedEvents has the events that were recorded, so that each is recorded only once.
type recordedEvents struct {
	backOffs   map[string]time.Time // by container name: the end of the last recorded delay
	sandbox    uint32               // the attempt of the last recorded replacement
	mismatches map[string]bool      // by container name and field
	// resizeErrors has the last event ResizeError of each container, by name, and of the cgroup of the pod under
	// "". It is deleted after a success.
	resizeErrors map[string]resizeErrorEvent
}

// persistedState records in memory what the prober, the status store, Config.ContainerStates and
// Config.TerminalStatuses have of an incarnation.
type persistedState struct {
	containers      *savedContainers // nil: Config.ContainerStates was not read yet
	proberHasStatus bool             // the prober has the status of an earlier process
	statusPublished bool             // this process has published a status
	terminalStatus  terminalStatusSaveState
}

// terminalStatusSaveState is what Config.TerminalStatuses has for a UID, as far as this incarnation
// knows. Its value only grows.
type terminalStatusSaveState uint8

const (
	mayHaveFormerStatus terminalStatusSaveState = iota // it may have the terminal status of a previous incarnation
	nothingSaved                                       // it has nothing, because this incarnation is not terminal
	saveFailed                                         // it has nothing, because the save has failed
	terminalStatusSaved                                // it has the terminal status of this incarnation
)

// pullHistory has the result of the last pulls of an image.
type pullHistory struct {
	backoff  backoff.State
	err      error
	recorded bool // an event was recorded for this back-off
}

// findOrCreateIncarnation returns the state of the current incarnation, and counts the call. An incarnation is
// one of several pods that have the same UID one after the other. It creates the state for a new UID, for a new
// worker, and after the previous pod has terminated. The first state in a process takes over the existing
// containers in the runtime, because they may be of this pod. Each later state gets a number above the numbers
// of all containers.
func (s *Syncer) findOrCreateIncarnation(pod *v1.Pod, worker uint64, status *runtime.PodStatus) *incarnation {
	uid, newestRecorded := pod.UID, plan.NewestIncarnation(status)
	s.mu.Lock()
	defer s.mu.Unlock()
	inc := s.mu.incarnations[uid]
	switch {
	case inc == nil:
		inc = &incarnation{workerIncarnation: worker, number: 1}
		inc.adoptOrOutnumberRecords(newestRecorded, pod, status)
		s.mu.incarnations[uid] = inc
	case inc.workerIncarnation != worker || inc.stage == incarnationEnded:
		inc = &incarnation{workerIncarnation: worker, number: max(newestRecorded, inc.number) + 1, previousIncarnations: inc.previousIncarnations + 1, stage: storedStatusMayBeFormer, calls: inc.calls}
		s.mu.incarnations[uid] = inc
	case newestRecorded > inc.number:
		// Only this process assigns numbers. So these records are older than the process, and the
		// first status of this incarnation did not show them.
		inc.adoptOrOutnumberRecords(newestRecorded, pod, status)
	}
	inc.calls++
	return inc
}

// adoptOrOutnumberRecords sets the number of the pod's incarnation (its number among the pods that had this
// UID). It sets the highest number of the UID's containers in the runtime, so that these containers belong to
// this pod. If they belong to a former pod, it sets that number plus one, and marks the stored status as
// possibly of the former pod.
func (inc *incarnation) adoptOrOutnumberRecords(newest uint64, pod *v1.Pod, status *runtime.PodStatus) {
	inc.number = max(newest, inc.number)
	if inc.previousIncarnations > 0 || len(pod.Spec.Containers) > 0 && plan.BelongsToOtherPod(status, newest, pod) {
		inc.number, inc.stage = newest+1, storedStatusMayBeFormer
	}
}

// clearIncarnationAndMarkEnded clears the state of a terminated pod in place and marks it as ended. It keeps
// the counters, so that the next pod with this UID gets a higher number.
func (s *Syncer) clearIncarnationAndMarkEnded(inc *incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*inc = incarnation{workerIncarnation: inc.workerIncarnation, number: inc.number, previousIncarnations: inc.previousIncarnations, calls: inc.calls, stage: incarnationEnded}
}

// Forget deletes the state of every pod for which keep returns false. Housekeeping calls it now and
// then, concurrently with everything else. keep is called with no lock held. It must return true while
// the workers or the runtime know the pod, because a new pod would adopt the records of a forgotten
// UID. Forget keeps a pod that is synced meanwhile.
func (s *Syncer) Forget(keep func(types.UID) bool) {
	s.mu.Lock()
	seen := make(map[types.UID]uint64, len(s.mu.incarnations))
	for uid, inc := range s.mu.incarnations {
		seen[uid] = inc.calls
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
		if inc := s.mu.incarnations[uid]; inc != nil && inc.calls == syncPasses {
			delete(s.mu.incarnations, uid)
			s.refresher.forgetPod(uid)
		}
	}
}
