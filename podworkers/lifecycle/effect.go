package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Op is the kind of an effect.
type Op uint8

const (
	// OpWake: make sure that a worker calls StartPodSync for this pod. It is not emitted again
	// before StartPodSync, unless the pod was finished or forgotten in between.
	OpWake Op = iota + 1
	// OpCancel: cancel the context of the running call.
	OpCancel
	// OpRequeue: call Due after the delay of Class, unless another effect for the pod comes first.
	// It replaces the entry that the pod has in the work queue.
	OpRequeue
	// OpUnqueue: remove the pod's entry from the work queue.
	OpUnqueue
	// OpResolve: resolve Ticket with Resolution. It is emitted once per ticket.
	OpResolve
	// OpPhase: this incarnation has entered Phase. The caller may drop the content of a finished
	// pod.
	OpPhase
	// OpPromote: the queued content becomes the current content of the same record, under a new
	// Incarnation.
	OpPromote
	// OpDiscard: drop the queued content.
	OpDiscard
	// OpForget: the record was deleted. Ref is stale.
	OpForget
	// OpCompare: the runtime shows a change of a pod whose last call failed. Compare the status
	// that the call was given with the newest one. Call EndBackoff if RuntimeChange returns a
	// change.
	OpCompare
)

var opNames = [...]string{
	OpWake: "wake", OpCancel: "cancel", OpRequeue: "requeue", OpUnqueue: "unqueue", OpResolve: "resolve",
	OpPhase: "phase", OpPromote: "promote", OpDiscard: "discard", OpForget: "forget", OpCompare: "compare",
}

// String returns the effect's name.
func (o Op) String() string { return enumName(opNames[:], int(o)) }

// Ticket identifies one Kill. A number is never reused.
type Ticket uint64

// Resolution is the result of a kill.
type Resolution uint8

const (
	// Stopped: SyncTerminatingPod, or SyncTerminatingRuntimePod, returned nil.
	Stopped Resolution = iota + 1
	// AlreadyStopped: the pod was already terminated or finished.
	AlreadyStopped
	// NeverStarted: the pod was finished or forgotten before its first sync, and was not found in
	// the runtime.
	NeverStarted
	// PodDesired: the kill of a RuntimePod was refused, because the pod is desired and was updated
	// after the runtime was observed.
	PodDesired
	// Abandoned: the table was shut down before the pod was stopped.
	Abandoned
)

var resolutionNames = [...]string{
	Stopped: "stopped", AlreadyStopped: "already-stopped", NeverStarted: "never-started", PodDesired: "pod-desired", Abandoned: "abandoned",
}

// String returns the name of the resolution.
func (r Resolution) String() string { return enumName(resolutionNames[:], int(r)) }

// IsStopped reports whether no container of the pod runs, as far as the table knows.
func (r Resolution) IsStopped() bool { return r == Stopped || r == AlreadyStopped || r == NeverStarted }

// Effect is an action that the caller must perform.
type Effect struct {
	Op          Op
	Class       backoff.Class // OpRequeue
	Phase       Phase         // OpPhase
	Resolution  Resolution    // OpResolve
	Ref         Ref
	UID         types.UID
	Incarnation uint64
	Ticket      Ticket // OpResolve
}

// Effects is a buffer to which the methods of Table append effects. The caller performs them in
// order. Empty it with (*e)[:0] and reuse it.
type Effects []Effect
