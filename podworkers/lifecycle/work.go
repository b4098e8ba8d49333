package lifecycle

import "k8s.io/apimachinery/pkg/types"

// Kind is the method of the syncer that a piece of work calls.
type Kind uint8

const (
	// SyncPod brings a desired pod closer to its spec.
	SyncPod Kind = iota + 1
	// SyncTerminatingPod stops the pod's containers.
	SyncTerminatingPod
	// SyncTerminatingRuntimePod stops a pod that only the runtime knows.
	SyncTerminatingRuntimePod
	// SyncTerminatedPod cleans up after the last container has stopped.
	SyncTerminatedPod
)

var kindNames = [...]string{
	SyncPod: "SyncPod", SyncTerminatingPod: "SyncTerminatingPod",
	SyncTerminatingRuntimePod: "SyncTerminatingRuntimePod", SyncTerminatedPod: "SyncTerminatedPod",
}

// String returns the method's name.
func (k Kind) String() string { return name(kindNames[:], int(k)) }

// Work is one call to make. Give its Ref and Incarnation back to Done.
type Work struct {
	Ref         Ref
	UID         types.UID
	Incarnation uint64
	Kind        Kind
	// Type is the reason of the update that is run; a replay's is SyncPodSync.
	Type SyncPodType
	// Generation of the content to run: always the newest current one.
	Generation uint64
	// Grace to pass on; unset is the spec's.
	Grace Grace
	// PodStatusFunc is the generation of the update whose status function is passed
	// on, 0 for none.
	PodStatusFunc uint64
	// Evicted: the pod is terminating because, among others, of an eviction.
	Evicted bool
	// Stable: the result of the call before was Stable, and no update came since, so that
	// this call can perhaps be left out (AsksStable).
	Stable bool
	// NeedStatus: the call needs an observation begun after the pod's last
	// call has ended. False for a SyncTerminatingRuntimePod only.
	NeedStatus bool
}

// Result is how a piece of work ended.
type Result uint8

const (
	// Succeeded: nil error.
	Succeeded Result = iota + 1
	// Completed: nil error of a SyncPod that found the pod at its own end.
	Completed
	// Stable: nil error of a SyncPod, or a SyncPod that was left out, and the next one would
	// find nothing to do either until something changes (Work.AsksStable).
	Stable
	// Cancelled: the context ended first.
	Cancelled
	// Failed: any other error.
	Failed
	// FailedTransient: an error that passes soon, such as a network that is
	// not ready yet.
	FailedTransient
	// FailedAsked: an error that names the time to try again.
	FailedAsked
	// FailedFinally: an error that trying again would not mend. A SyncPod is
	// called again with the next update or resync; a termination goes on as
	// after any error, for it has to end.
	FailedFinally
	// FailedRuntimeUnavailable: the runtime could not be asked. Once it answers about the pod,
	// that is synced without waiting any longer.
	FailedRuntimeUnavailable
)

var resultNames = [...]string{
	Succeeded: "succeeded", Completed: "completed", Stable: "stable", Cancelled: "cancelled", Failed: "failed",
	FailedTransient: "failed-transient", FailedAsked: "failed-asked", FailedFinally: "failed-finally",
	FailedRuntimeUnavailable: "failed-runtime-unavailable",
}

// String returns the result's name.
func (r Result) String() string { return name(resultNames[:], int(r)) }

// StartPodSync hands out the work of a pod that was woken. It is called by the pod's
// runner; false means that there is nothing to do, because the wake-up is
// stale, another runner has taken the work, or the table is shut down. Work
// that was taken is running until Done, so one pod never has two.
func (t *Table) StartPodSync(ref Ref) (Work, bool) {
	r := t.slots.get(ref)
	if r == nil || r.activity != ready || t.down {
		return Work{}, false
	}
	r.stage = moves[begun][r.stage]
	r.latches |= started
	w := r.work()
	r.activity, r.pending, r.waitsForRuntime = runs(w.Kind), false, false
	return w, true
}

// AsksStable reports whether the caller asks the syncer now if the pod is stable: that is, if
// a SyncPod would find nothing to do until something changes. The caller calls it twice for
// each work: with a zero result once there is a fresh status, and with the result of the call.
// If the syncer then says that the pod is stable, the work ends with the result Stable, and a
// call that was not made yet is left out.
func (w *Work) AsksStable(result Result) bool {
	if result == 0 {
		return w.Stable
	}
	return result == Succeeded && w.Kind == SyncPod
}

// work is what r's stage asks for: not the update that led to it.
func (r *record) work() Work {
	w := Work{
		Ref: r.ref(), UID: r.uid, Incarnation: r.incarnation, Kind: r.kind(), Generation: r.generation,
		Grace: r.passed(), Evicted: r.latches.has(evicted),
	}
	w.NeedStatus = w.Kind != SyncTerminatingRuntimePod
	if r.pending {
		w.Type = r.reason
	}
	w.Stable = r.stable && !r.pending && w.Kind == SyncPod
	if r.coldFields != nil && w.Kind == SyncTerminatingPod {
		w.PodStatusFunc = r.coldFields.statusFunc
	}
	return w
}

func (r *record) kind() Kind {
	switch {
	case r.stage == StageSyncing:
		return SyncPod
	case r.stage == StageTerminated:
		return SyncTerminatedPod
	case r.runtimeOnly():
		return SyncTerminatingRuntimePod
	default:
		return SyncTerminatingPod
	}
}
