package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Op is the kind of an effect.
type Op uint8

const (
	// OpWake: there is work for this pod. Make sure that StartPodSync is called.
	// Given once until StartPodSync.
	OpWake Op = iota + 1
	// OpCancel: cancel the context of the work that is running.
	OpCancel
	// OpRequeue: unless something happens first, call Due later; Class says
	// when. It replaces the entry that the pod has in the queue.
	OpRequeue
	// OpUnqueue: drop the pod's entry in the queue.
	OpUnqueue
	// OpResolve: Ticket is resolved with Resolution. Given once per ticket.
	OpResolve
	// OpPhase: this incarnation has entered Phase. Nothing needs to be done; a
	// finished pod's content is not asked for again.
	OpPhase
	// OpPromote: the queued content is the current one from now on, under a
	// new Incarnation of the same record.
	OpPromote
	// OpDiscard: the queued content is not needed any more.
	OpDiscard
	// OpForget: the record is gone; Ref is not valid any more.
	OpForget
	// OpCompare: the runtime shows a change of a pod whose last work has failed.
	// Compare what it shows with what that work was shown, and call Changed if
	// there is more to see than what the work itself has left behind.
	OpCompare
)

var opNames = [...]string{
	OpWake: "wake", OpCancel: "cancel", OpRequeue: "requeue", OpUnqueue: "unqueue", OpResolve: "resolve",
	OpPhase: "phase", OpPromote: "promote", OpDiscard: "discard", OpForget: "forget", OpCompare: "compare",
}

// String returns the effect's name.
func (o Op) String() string { return name(opNames[:], int(o)) }

// Ticket stands for one Kill. Numbers are never used twice.
type Ticket uint64

// Resolution is how a kill ended.
type Resolution uint8

const (
	// Stopped: SyncTerminatingPod, or SyncTerminatingRuntimePod, returned nil.
	Stopped Resolution = iota + 1
	// AlreadyStopped: the pod was terminated or finished when the kill came.
	AlreadyStopped
	// NeverStarted: the pod ended before its first sync, and the runtime has
	// shown nothing of it.
	NeverStarted
	// PodDesired: the kill of a RuntimePod was refused, because the pod was desired
	// after the observation, or is none that could be killed.
	PodDesired
	// Abandoned: the table was shut down first.
	Abandoned
)

var resolutionNames = [...]string{
	Stopped: "stopped", AlreadyStopped: "already-stopped", NeverStarted: "never-started", PodDesired: "pod-desired", Abandoned: "abandoned",
}

// String returns the name of the resolution.
func (r Resolution) String() string { return name(resolutionNames[:], int(r)) }

// Down is true if none of the pod's containers runs, as far as the table can know.
func (r Resolution) Down() bool { return r == Stopped || r == AlreadyStopped || r == NeverStarted }

// Effect is something the caller must do.
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

// Effects is a buffer that the methods of Table append to, in the order in
// which the effects are to be done. Empty it with (*e)[:0] and use it again.
type Effects []Effect
