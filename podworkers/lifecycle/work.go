package lifecycle

import "k8s.io/apimachinery/pkg/types"

// Kind is a method of the PodSyncer.
type Kind uint8

const (
	// SyncPod brings a desired pod closer to its spec.
	SyncPod Kind = iota + 1
	// SyncTerminatingPod stops the pod's containers.
	SyncTerminatingPod
	// SyncTerminatingRuntimePod stops a pod that only the runtime shows.
	SyncTerminatingRuntimePod
	// SyncTerminatedPod cleans up after the last container has stopped.
	SyncTerminatedPod
)

var kindNames = [...]string{
	SyncPod: "SyncPod", SyncTerminatingPod: "SyncTerminatingPod",
	SyncTerminatingRuntimePod: "SyncTerminatingRuntimePod", SyncTerminatedPod: "SyncTerminatedPod",
}

// String returns the method's name.
func (k Kind) String() string { return enumName(kindNames[:], int(k)) }

// Work is one call of the syncer. Pass its Ref and Incarnation to Done.
type Work struct {
	Ref         Ref
	UID         types.UID
	Incarnation uint64
	Kind        Kind
	// Type is the reason of the update. It is SyncPodSync for a retry or a resync.
	Type SyncPodType
	// Generation is the number of the current content, which the call must use.
	Generation uint64
	// Grace is the grace period to pass to the syncer. If it is unset the grace period of the spec
	// applies.
	Grace Grace
	// PodStatusFunc is the generation of the update whose status func is passed to the syncer; 0
	// for none.
	PodStatusFunc uint64
	// Evicted is true if the pod was evicted.
	Evicted bool
	// Stable is true if the last result was Stable and no update came since. The caller may then
	// skip the call; see ShouldCheckStable.
	Stable bool
	// NeedStatus is true if the call needs an observation that began after the pod's last call
	// returned. It is false only for SyncTerminatingRuntimePod.
	NeedStatus bool
}

// Result is the result of a call.
type Result uint8

const (
	// Succeeded: the call returned nil.
	Succeeded Result = iota + 1
	// Completed: SyncPod returned nil and reported that the pod has completed.
	Completed
	// Stable: SyncPod returned nil or was skipped, and the next SyncPod would have nothing to do
	// until something changes; see Work.ShouldCheckStable.
	Stable
	// Cancelled: the context was cancelled.
	Cancelled
	// Failed: any other error.
	Failed
	// FailedTransient: an error that should be over soon, such as a network that is not ready yet.
	FailedTransient
	// FailedRetryAt: an error that names the time of the next attempt.
	FailedRetryAt
	// FailedFinally: an error that no retry can fix. SyncPod is called again at the next update or
	// resync. A termination is retried as after any other error, because it must succeed.
	FailedFinally
	// FailedRuntimeUnavailable: the runtime did not answer. The pod is synced as soon as the
	// runtime answers about it.
	FailedRuntimeUnavailable
)

var resultNames = [...]string{
	Succeeded: "succeeded", Completed: "completed", Stable: "stable", Cancelled: "cancelled", Failed: "failed",
	FailedTransient: "failed-transient", FailedRetryAt: "failed-retry-at", FailedFinally: "failed-finally",
	FailedRuntimeUnavailable: "failed-runtime-unavailable",
}

// String returns the result's name.
func (r Result) String() string { return enumName(resultNames[:], int(r)) }

// StartPodSync returns the work of a pod that was woken. The pod's worker calls it. It returns
// false if there is nothing to do: the wake-up is stale, another worker took the work, or the table
// is shut down. The work counts as running until Done, so the calls of one pod never overlap.
func (t *Table) StartPodSync(ref Ref) (Work, bool) {
	r := t.slots.recordOrNilIfStale(ref)
	if r == nil || r.activity != ready || t.shutDown {
		return Work{}, false
	}
	r.stage = stageAfter[workStarted][r.stage]
	r.flags |= flagStarted
	w := r.nextWork()
	r.activity, r.pending, r.waitsForRuntime = runningActivity(w.Kind), false, false
	return w, true
}

// ShouldCheckStable reports whether the caller should ask the syncer if the pod is stable. A pod is
// stable if SyncPod has nothing to do until something changes. The caller calls ShouldCheckStable
// twice per work:
//
//   - before SyncPod, with the result 0. It returns true if the last result was Stable. If the pod
//     is still stable, the caller skips SyncPod.
//   - after SyncPod, with its result. It returns true if SyncPod has succeeded.
//
// In both cases the caller passes Stable to Done if the pod is stable.
func (w *Work) ShouldCheckStable(result Result) bool {
	if result == 0 {
		return w.Stable
	}
	return result == Succeeded && w.Kind == SyncPod
}

// nextWork returns the next call for the pod: the syncer method that r's stage requires, with its arguments. It
// changes nothing. The type of the last update does not select the method.
func (r *record) nextWork() Work {
	w := Work{
		Ref: r.ref(), UID: r.uid, Incarnation: r.incarnation, Kind: r.requiredSyncerMethod(), Generation: r.generation,
		Grace: r.graceForSyncer(), Evicted: r.flags.hasAny(flagEvicted),
	}
	w.NeedStatus = w.Kind != SyncTerminatingRuntimePod
	if r.pending {
		w.Type = r.reason
	}
	w.Stable = r.stable && !r.pending && w.Kind == SyncPod
	if r.cold != nil && w.Kind == SyncTerminatingPod {
		w.PodStatusFunc = r.cold.statusFuncGeneration
	}
	return w
}

// requiredSyncerMethod returns the syncer method that r's stage requires. While a pod terminates, that is
// SyncTerminatingPod for a pod that a source has delivered. For a pod that no source has delivered it is
// SyncTerminatingRuntimePod.
func (r *record) requiredSyncerMethod() Kind {
	switch {
	case r.stage == StageSyncing:
		return SyncPod
	case r.stage == StageTerminated:
		return SyncTerminatedPod
	case r.isRuntimeOnly():
		return SyncTerminatingRuntimePod
	default:
		return SyncTerminatingPod
	}
}
