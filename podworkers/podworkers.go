package podworkers

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// PodWorkers keeps one serialised state machine per pod UID. All methods are
// safe for concurrent use and none of them waits for a sync.
type PodWorkers interface {
	// UpdatePod hands the desired state of a pod to its worker. The
	// newest content wins; a kill, a deletion or an eviction can not be taken
	// back by any later update. It is legal before Run, when the work is kept
	// for later, and ErrStopped after it. An update that makes no sense is
	// refused with ErrInvalid and changes nothing.
	UpdatePod(options UpdatePodOptions) error
	// Kill is UpdatePod with type SyncPodKill that also returns a handle on
	// the end of the pod. The handle is resolved exactly once, whatever
	// happens, with an error if the kill was refused.
	Kill(options UpdatePodOptions) *Completion
	// SyncKnownPods compares the workers with a snapshot of the whole desired state. It terminates
	// pods that are not desired, forgets those that have finished, and returns all others.
	// Housekeeping calls it, one call at a time.
	SyncKnownPods(known KnownPods) map[types.UID]PodWorkerSync
	// Generation numbers the updates accepted so far. Read it before taking
	// the snapshot for SyncKnownPods: later pods are left alone.
	Generation() uint64
	// View returns everything that is known of one pod at one moment, also for an unknown UID.
	View(uid types.UID) lifecycle.View
	// IsPodForMirrorPodTerminatingByFullName tells whether the static pod that
	// holds a full name is being terminated: its mirror is no orphan then.
	IsPodForMirrorPodTerminatingByFullName(fullName string) bool
}

// PodSyncer syncs, terminates and cleans up pods. Its methods are never called
// concurrently for one UID. They are called concurrently for different UIDs. A panic
// counts as an error. Package podsyncertest checks an implementation.
//
// In every call podStatus is an observation begun after the previous call for that UID
// ended. It and the pods are shared with other readers, and a pod's spec perhaps with other
// pods: they must not be modified.
type PodSyncer interface {
	// SyncPod brings a desired pod closer to its spec. It is called again for
	// every update, about once a minute without one (see Config.Stability), and
	// after an error with backoff. ctx ends when the pod has to terminate; return soon
	// then, with an error that wraps ctx.Err(). isTerminal with a nil error means
	// that the pod has reached its end by itself and must be terminated.
	SyncPod(ctx context.Context, updateType SyncPodType, pod, mirrorPod *v1.Pod, podStatus *runtime.PodStatus) (isTerminal bool, err error)
	// SyncTerminatingPod stops the pod's containers. It is repeated, with a
	// grace that never grows, until it returns nil: then none runs, and none
	// will. A nil gracePeriod is the spec's. podStatusFn, if not nil, changes
	// the status to publish (an eviction's reason, say). ctx ends when the
	// grace is shortened; the next call follows at once.
	SyncTerminatingPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus, gracePeriod *int64, podStatusFn PodStatusFunc) error
	// SyncTerminatingRuntimePod stops a pod that only the runtime knows. nil
	// means that nothing of it runs. It is repeated until then.
	SyncTerminatingRuntimePod(ctx context.Context, runningPod *runtime.Pod) error
	// SyncTerminatedPod cleans up after the last container has stopped. It is
	// repeated until it returns nil: then the pod is finished on this node.
	SyncTerminatedPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) error
}

// PodStatusFunc changes a status before it is published. It is called by the PodSyncer,
// on the goroutine of the pod's sync, for each attempt to terminate until its status is
// stored. After a panic package podsync publishes the status as it was.
type PodStatusFunc func(status *v1.PodStatus)

// SyncPodType is the reason of an update.
type SyncPodType = lifecycle.SyncPodType

// The reasons of an update, in the kubelet's order.
const (
	// SyncPodSync: the pod is due, and nothing is known to have changed.
	SyncPodSync = lifecycle.SyncPodSync
	// SyncPodUpdate: the content may have changed.
	SyncPodUpdate = lifecycle.SyncPodUpdate
	// SyncPodCreate: the pod is new, or new again under an old UID.
	SyncPodCreate = lifecycle.SyncPodCreate
	// SyncPodKill: the pod must end.
	SyncPodKill = lifecycle.SyncPodKill
)

// UpdatePodOptions is one update. Either Pod or RunningPod is set; Pod wins.
type UpdatePodOptions struct {
	UpdateType SyncPodType
	// Observation says that the only reason of an update of type SyncPodSync is that
	// the runtime shows a change of the pod. After a failed call such an update ends
	// the backoff only if the change is more than the echo of that call, as
	// lifecycle.RuntimeChange tells them apart: records that the call has made do
	// not make the next one more likely to succeed. Any other update ends it.
	Observation bool
	// StartTime is when the update was first seen, for latency hooks; zero
	// measures nothing.
	StartTime time.Time
	// Pod is the desired pod. It is kept and handed to the syncer as it is:
	// the caller does not change it afterwards.
	Pod *v1.Pod
	// MirrorPod is the API's reflection of a static pod, if there is one.
	MirrorPod *v1.Pod
	// RunningPod is a pod known from the runtime only. It can only be killed.
	RunningPod *runtime.Pod
	// Generation, for a RunningPod, is PodWorkers.Generation as it was before the
	// runtime was observed: a pod that was desired since then is not killed. With zero
	// no pod that the workers know to be desired is killed.
	Generation uint64
	// KillPodOptions are read when the pod terminates.
	KillPodOptions *KillPodOptions
}

// KillPodOptions say how a pod ends.
type KillPodOptions struct {
	// Evict makes the pod's content removable at once.
	Evict bool
	// PodStatusFunc changes the final status; the last one registered counts.
	PodStatusFunc PodStatusFunc
	// PodTerminationGracePeriodSecondsOverride, in seconds, can only shorten
	// the grace. nil leaves it alone; less than 1 counts as 1.
	PodTerminationGracePeriodSecondsOverride *int64
}

// KnownPods is a whole snapshot of the desired state, as SyncKnownPods takes it.
type KnownPods struct {
	// Desired is every desired pod of the node.
	Desired []*v1.Pod
	// Generation is PodWorkers.Generation as it was before the snapshot was
	// taken.
	Generation uint64
	// Authoritative reports whether Desired has all pods of a source, because the source is ready
	// and complete. Only then a pod of that source that is missing in Desired is terminated. Nil:
	// it has all pods of every source.
	Authoritative func(source string) bool
	// Removed are pods that their source has removed: they are terminated whatever Authoritative
	// says. A UID has no effect here if it is in Desired or was updated after Generation.
	Removed []types.UID
	// AllSources is true once every source has delivered. From the first such call on, View answers
	// for an unknown UID that nothing of it runs, for ever.
	AllSources bool
}

// PodWorkerSync is the answer of SyncKnownPods about one worker.
type PodWorkerSync struct {
	// State is the phase the worker is in.
	State lifecycle.Phase
	// Orphan is true if the pod is not desired.
	Orphan bool
	// HasConfig is true if the worker has a real pod, not just a running one.
	HasConfig bool
	// Static is true for a static pod.
	Static bool
}
