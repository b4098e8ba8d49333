package explain

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// StatusRefused is why the status does not follow what the runtime shows; empty: it
	// does.
	StatusRefused string
	// Deferred is for what the pod waits before it can be admitted, in a sentence;
	// empty: it does not. DeferredUntil is when it is refused if it still waits; zero:
	// never.
	Deferred      string
	DeferredUntil time.Time
	// OrphanUntil is when a pod is ended that a former agent has started and that no source
	// has named, unless one does; zero: that is not so.
	OrphanUntil time.Time
	// Fault is what is wrong with a manifest of the pod; nil: nothing.
	Fault *Fault
	// LastSync is how the last sync ended.
	LastSync Sync
	// BackoffUntil are the times before which containers are not tried again.
	BackoffUntil map[string]time.Time
	// Probes are what the last checks have said.
	Probes []Probe
	// History is what happened to the pod, oldest first.
	History []Entry

	index factsIndex
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
	// IncompleteSources are the sources that have not said everything they want.
	IncompleteSources []string
	// SourceFault is what is wrong with a manifest of those sources; empty: nothing.
	SourceFault string
	// RuntimeFault is what is wrong with the runtime; empty: nothing.
	RuntimeFault string
	// Draining: nothing new is started.
	Draining bool
}

// Fault is what is wrong with the manifest that a pod is of, or with the directory or the
// server that has it.
type Fault struct {
	Path   string    `json:"path"`
	Reason string    `json:"reason"`
	Effect string    `json:"effect"` // what it means for the pod
	Since  time.Time `json:"since"`
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

// Explanation is why a pod is as it is. It is a value of its own: nothing in it
// is shared.
type Explanation struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// At is the moment of which it speaks.
	At time.Time `json:"at"`
	// Sentence names the pod, its phase and the nearest cause.
	Sentence string      `json:"sentence"`
	Phase    v1.PodPhase `json:"phase"`
	Reason   string      `json:"reason,omitempty"`
	Message  string      `json:"message,omitempty"`
	// Worker is the phase of the pod's worker, "none" without one; Incarnation counts
	// the incarnations of the UID; Doing is what the worker does now.
	Worker      string `json:"worker"`
	Incarnation uint64 `json:"incarnation,omitempty"`
	Doing       string `json:"doing,omitempty"`
	// Fault is what is wrong with a manifest of it; nil: nothing.
	Fault *Fault `json:"fault,omitempty"`
	// Waits is everything that is waited for, the nearest cause first. A pod
	// that is as it should be waits for nothing.
	Waits []string `json:"waits,omitempty"`
	// Next is when the pod is synced without a request; nil: it is not,
	// or that is going on now.
	Next       *Next       `json:"next,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	// Conditions are those that are not True.
	Conditions []Condition `json:"conditions,omitempty"`
	// Probes are those of containers that run.
	Probes  []Probe `json:"probes,omitempty"`
	History []Entry `json:"history,omitempty"`
}

// Next is a moment at which a pod is synced.
type Next struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// Kind says what part a container has in its pod.
type Kind string

// The kinds of containers.
const (
	// Init containers run to their end before all others.
	Init Kind = "init container"
	// Sidecar is a restartable init container.
	Sidecar Kind = "sidecar"
	// Regular containers are what the pod is for.
	Regular Kind = "container"
	// Ephemeral containers were added to a pod that runs.
	Ephemeral Kind = "ephemeral container"
)

// Container is one container.
type Container struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// State is waiting, running, terminated, or empty if nothing is known.
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when it began to run, if it does.
	Since    time.Time `json:"since,omitzero"`
	Ready    bool      `json:"ready"`
	Started  bool      `json:"started"`
	Restarts int32     `json:"restarts"`
	// NotBefore is when it is tried again at the earliest; zero: at any time.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// LastEnd is how it ended last; nil: it did not.
	LastEnd *End `json:"lastEnd,omitempty"`
	// Problem is what is amiss with it, in a clause; empty: nothing.
	Problem string `json:"says,omitempty"`
}

// End is how a container ended.
type End struct {
	ExitCode int32     `json:"exitCode"`
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Condition is a condition of the pod that is not True.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// RingSize is how many entries a Ring holds.
const RingSize = 32

// Entry is one thing that happened to a pod. The same thing several times in a
// row is one entry.
type Entry struct {
	At   time.Time `json:"at"`   // of the last time
	What string    `json:"what"` // phase, status, action, sync or probe
	Text string    `json:"text"`
	Err  string    `json:"error,omitempty"`
	// Times is how often it happened in a row; 0 is once.
	Times int `json:"times,omitempty"`
}
