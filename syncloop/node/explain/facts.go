package explain

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Facts are what a node knows of one pod at one moment. They are only read.
type Facts struct {
	Now time.Time
	// Pod is the desired pod. Of a pod that is not Desired the names are enough.
	Pod     *v1.Pod
	Desired bool
	// Status is the newest status; nil: nothing has been said of it.
	Status *v1.PodStatus
	// Runtime is the newest observation; nil: there is none.
	Runtime *runtime.PodStatus
	Worker  Worker
	Node    Node
	// Refused is why the status does not follow what the runtime shows; empty: it
	// does.
	Refused string
	// Deferred is for what the pod waits before it can be admitted, in a sentence;
	// empty: it does not. DeferredUntil is when it is refused if it still waits; zero:
	// never.
	Deferred      string
	DeferredUntil time.Time
	// EndAt is when a pod is ended that a former agent has started and that no source
	// has named, unless one does; zero: that is not so.
	EndAt time.Time
	// Last is how the last sync ended.
	Last Sync
	// Held are the times before which containers are not tried again.
	Held map[string]time.Time
	// Probes are what the last checks have said.
	Probes []Probe
	// History is what happened to the pod, oldest first.
	History []Entry
}

// Worker is the pod's worker.
type Worker struct {
	Known bool // there is one
	// Phase is where the pod is in its life: Syncing and so on.
	Phase       string
	Incarnation uint64 // of the UID
	// Deleted: the pod is no longer desired. Evicted: it was evicted.
	Deleted, Evicted bool
	// Grace, in seconds, is that of the end; nil until the pod has to.
	Grace *int64
	// AwaitsName: another pod of its full name has to end first.
	AwaitsName bool
	// PreviousIncarnation: this worker is that of a former pod of the UID, after whose
	// end the desired one begins.
	PreviousIncarnation bool
	// Step is what the worker is doing: Idle and so on.
	Step string
	// NextAt is when it wakes by itself; zero: it does not.
	NextAt time.Time
}

// The phases of a worker that matter here, in the workers' words.
const (
	// Terminating: the pod has to end.
	Terminating = "terminating"
	// Terminated: nothing of it runs any more.
	Terminated = "terminated"
	// Finished: nothing is left to do.
	Finished = "finished"
)

// The steps of a worker, in the workers' words.
const (
	// Idle: it does nothing.
	Idle = "idle"
	// AwaitingStatus: it waits for a fresh observation.
	AwaitingStatus = "awaiting a status"
	// AwaitingSlot: it waits for its turn among the pods.
	AwaitingSlot = "awaiting a slot"
	// Working: it syncs the pod.
	Working = "working"
)

// Node is what holds for all pods of a node.
type Node struct {
	// Stopped: the node does not run, or not yet.
	Stopped bool
	// Unheard are the sources that have not said everything they want.
	Unheard []string
	// Fault is what is wrong with the runtime; empty: nothing.
	Fault string
	// Draining: nothing new is started.
	Draining bool
}

// Sync is how a sync ended; the zero value: there was none.
type Sync struct {
	At  time.Time
	Err string
}

// Probe is what the last check of a probe has said. Whether that is the verdict
// depends on thresholds.
type Probe struct {
	Container string    `json:"container"`
	Kind      string    `json:"kind"` // liveness, readiness or startup
	Success   bool      `json:"success"`
	Message   string    `json:"message,omitempty"`
	At        time.Time `json:"at,omitzero"` // since when all have said the same
}
