package podworkers

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// PodWorkers runs one serialised state machine per pod UID. All methods are safe for concurrent
// use. None of them waits for a sync.
type PodWorkers interface {
	// UpdatePod passes the desired state of a pod to its worker. The newest content wins. No later
	// update takes back a kill, a deletion or an eviction. Before Run the work is stored. After Run
	// UpdatePod returns ErrStopped. For an invalid update it returns ErrInvalid and changes
	// nothing.
	UpdatePod(options UpdatePodOptions) error
	// Kill is UpdatePod with type SyncPodKill. It also returns a handle on the termination of the
	// pod. The handle is resolved exactly once, in every case, with an error if the kill was
	// refused.
	Kill(options UpdatePodOptions) *Completion
	// SyncKnownPods compares the workers with a snapshot of the whole desired state. It terminates
	// pods that are not desired, forgets those that have finished, and returns all others.
	// Housekeeping calls it, one call at a time.
	SyncKnownPods(known KnownPods) map[types.UID]PodWorkerSync
	// Generation returns the number of updates accepted so far. Read it before you take the
	// snapshot for SyncKnownPods, which ignores pods that were updated later.
	Generation() uint64
	// View returns the state of one pod at one moment, also for an unknown UID.
	View(uid types.UID) lifecycle.View
	// IsPodForMirrorPodTerminatingByFullName reports whether the static pod that holds a full name
	// is being terminated. Its mirror pod is not an orphan meanwhile.
	IsPodForMirrorPodTerminatingByFullName(fullName string) bool
}

// PodSyncer syncs, terminates and cleans up pods. Its methods are never called concurrently for one
// UID. They are called concurrently for different UIDs. A panic counts as an error. Package
// podsyncertest checks an implementation.
//
// In every call podStatus is an observation that began after the previous call for that UID
// returned. Other readers share it and the pods, and pods may share a spec: the syncer must not
// modify them.
type PodSyncer interface {
	// SyncPod brings a desired pod closer to its spec. It is called again for every update, about
	// once a minute without one (see Config.Stability), and with backoff after an error. ctx is
	// cancelled when the pod has to terminate; SyncPod must then return soon, with an error that
	// wraps ctx.Err(). isTerminal with a nil error means that the pod has completed and must be terminated.
	SyncPod(ctx context.Context, updateType SyncPodType, pod, mirrorPod *v1.Pod, podStatus *runtime.PodStatus) (isTerminal bool, err error)
	// SyncTerminatingPod stops the pod's containers. It is called again until it returns nil, with
	// a grace period that never grows. Nil means that no container runs and none will start. A nil
	// gracePeriod is the spec's. podStatusFn, if not nil, changes the status to publish, for
	// example to an eviction's reason. ctx is cancelled when the grace period is shortened; the
	// next call follows at once.
	SyncTerminatingPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus, gracePeriod *int64, podStatusFn PodStatusFunc) error
	// SyncTerminatingRuntimePod stops a pod that only the runtime shows. It is called again until
	// it returns nil, which means that no container of the pod runs.
	SyncTerminatingRuntimePod(ctx context.Context, runningPod *runtime.Pod) error
	// SyncTerminatedPod cleans up after the last container has stopped. It is called again until it
	// returns nil. Then the pod is finished on this node.
	SyncTerminatedPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) error
}

// PodStatusFunc changes a status before it is published. The PodSyncer calls it on the goroutine of
// the pod's sync, for each attempt to terminate until its status is stored. If it panics, package
// podsync publishes the unchanged status.
type PodStatusFunc func(status *v1.PodStatus)

// SyncPodType is the reason of an update.
type SyncPodType = lifecycle.SyncPodType

// The reasons of an update, in the kubelet's order.
const (
	// SyncPodSync: the periodic resync is due.
	SyncPodSync = lifecycle.SyncPodSync
	// SyncPodUpdate: the content may have changed.
	SyncPodUpdate = lifecycle.SyncPodUpdate
	// SyncPodCreate: the pod is new, or new again under an old UID.
	SyncPodCreate = lifecycle.SyncPodCreate
	// SyncPodKill: the pod must terminate.
	SyncPodKill = lifecycle.SyncPodKill
)

// UpdatePodOptions is one update. Either Pod or RunningPod is set. If both are set Pod is used.
type UpdatePodOptions struct {
	UpdateType SyncPodType
	// Observation says that the only reason of an update of type SyncPodSync is a change that the
	// runtime shows. After a failed call such a change ends the backoff only if the call itself
	// cannot have caused it; see lifecycle.RuntimeChange. A container that the failed call created
	// does not make the next call more likely to succeed. Any other update ends the backoff.
	Observation bool
	// StartTime is when the update was first seen. It is used for Synced.Latency; zero measures
	// nothing.
	StartTime time.Time
	// Pod is the desired pod. The workers pass it to the syncer as it is. The caller must not
	// modify it afterwards.
	Pod *v1.Pod
	// MirrorPod is the mirror pod of a static pod; nil if it has none.
	MirrorPod *v1.Pod
	// RunningPod is a pod that only the runtime shows. It can only be killed.
	RunningPod *runtime.Pod
	// Generation, for a RunningPod, is PodWorkers.Generation from before the runtime was observed.
	// A pod that became desired since then is not killed. With zero, no pod is killed that the
	// workers know as desired.
	Generation uint64
	// KillPodOptions are read when the pod terminates.
	KillPodOptions *KillPodOptions
}

// KillPodOptions are the options of a termination.
type KillPodOptions struct {
	// Evict makes the pod's content removable at once.
	Evict bool
	// PodStatusFunc changes the final status. The function of the last update that has one is used.
	PodStatusFunc PodStatusFunc
	// PodTerminationGracePeriodSecondsOverride can only shorten the grace period. Nil does not
	// change it; less than 1 counts as 1.
	PodTerminationGracePeriodSecondsOverride *int64
}

// KnownPods is a snapshot of the whole desired state, for SyncKnownPods.
type KnownPods struct {
	// Desired is every desired pod of the node.
	Desired []*v1.Pod
	// Generation is PodWorkers.Generation from before the snapshot was taken.
	Generation uint64
	// Authoritative reports whether Desired has all pods of a source, because the source is ready
	// and complete. Only if it does, a missing pod of that source is terminated. Nil: Desired has
	// all pods of every source.
	Authoritative func(source string) bool
	// Removed are pods that their source has removed. They are terminated even if Authoritative
	// returns false. A UID has no effect here if it is in Desired or was updated after Generation.
	Removed []types.UID
	// AllSources is true once every source has delivered. From the first such call on, View answers
	// for an unknown UID that no container of it runs, for ever.
	AllSources bool
}

// PodWorkerSync is the state of one pod after SyncKnownPods.
type PodWorkerSync struct {
	// State is the phase of the pod.
	State lifecycle.Phase
	// Orphan is true if the pod is not desired.
	Orphan bool
	// HasConfig is true if a source has delivered the pod, and false if only the runtime has shown
	// it.
	HasConfig bool
	// Static is true for a static pod.
	Static bool
}
