package explain

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Facts are the data about one pod at one moment. Explain does not modify them.
type Facts struct {
	Now time.Time
	// Pod is the desired pod. Of an undesired pod only the names are needed.
	Pod     *v1.Pod
	Desired bool
	// Status is the newest status; nil: the pod has none.
	Status *v1.PodStatus
	// Runtime is the newest observation of the runtime; nil: there is none.
	Runtime *runtime.PodStatus
	Worker  Worker
	Node    Node
	// StatusRefused is why the status store rejected the status that the runtime shows; empty: it did
	// not reject it.
	StatusRefused string
	// Deferred is a sentence that says what the pod waits for before it can be admitted; empty: it does
	// not wait. DeferredUntil is when the pod is rejected if it still waits; zero: never.
	Deferred      string
	DeferredUntil time.Time
	// OrphanUntil is when the node terminates a pod that an earlier agent started and that no source
	// has delivered; zero: the pod is no such pod.
	OrphanUntil time.Time
	// Fault is the fault of a manifest of the pod; nil: there is none.
	Fault *Fault
	// LastSync is the result of the last sync.
	LastSync Sync
	// BackoffUntil has, by container name, the time before which the container is not started again.
	BackoffUntil map[string]time.Time
	// Probes are the results of the last checks of probes.
	Probes []Probe
	// History are the events of the pod, oldest first.
	History []Entry

	index factsIndex
}

// Worker is the state of the pod's worker.
type Worker struct {
	Known bool // the pod has a worker
	// Phase is the phase of the pod's lifecycle, for example Terminating.
	Phase       string
	Incarnation uint64 // of the UID
	// Deleted reports that the pod is no longer desired, Evicted that it was evicted.
	Deleted, Evicted bool
	// Grace is the grace period of the termination in seconds; nil before the termination.
	Grace *int64
	// AwaitsName reports that another pod with the same full name must terminate first.
	AwaitsName bool
	// PreviousIncarnation reports that the worker terminates an earlier pod of the UID. The desired pod
	// starts after that.
	PreviousIncarnation bool
	// Step is the present step of the worker, for example Idle.
	Step string
	// NextAt is the time of the worker's next sync; zero: none is planned.
	NextAt time.Time
}

// Phases of a worker, as package lifecycle names them.
const (
	// Terminating means that the pod is being terminated.
	Terminating = "terminating"
	// Terminated means that no container of the pod runs.
	Terminated = "terminated"
	// Finished means that the pod is terminated and cleaned up.
	Finished = "finished"
)

// Steps of a worker, as package podworkers names them.
const (
	// Idle means that the worker waits for its next sync.
	Idle = "idle"
	// AwaitingStatus means that the worker waits for a new observation of the runtime.
	AwaitingStatus = "awaiting a status"
	// AwaitingSlot means that the maximum number of pods is being synced.
	AwaitingSlot = "awaiting a slot"
	// Working means that the worker syncs the pod.
	Working = "working"
)

// Node has the facts that hold for all pods of a node.
type Node struct {
	// Stopped reports that the node does not run.
	Stopped bool
	// IncompleteSources are the sources that have not delivered all their pods.
	IncompleteSources []string
	// SourceFault is the fault of a manifest of those sources; empty: there is none.
	SourceFault string
	// RuntimeFault is the error of the runtime; empty: there is none.
	RuntimeFault string
	// Draining reports that the node rejects new pods.
	Draining bool
}

// Fault is the fault of a pod's manifest, or of the directory or server that has the manifest.
type Fault struct {
	Path   string    `json:"path"`
	Reason string    `json:"reason"`
	Effect string    `json:"effect"` // the consequence for the pod
	Since  time.Time `json:"since"`
}

// Sync is the result of a sync; the zero value: the pod was not synced.
type Sync struct {
	At  time.Time
	Err string
}

// Probe is the result of the last check of a probe. Thresholds decide whether the container is then
// ready or restarted.
type Probe struct {
	Container string    `json:"container"`
	Kind      string    `json:"kind"` // liveness, readiness or startup
	Success   bool      `json:"success"`
	Message   string    `json:"message,omitempty"`
	At        time.Time `json:"at,omitzero"` // time of the first of the last equal results
}

// Explanation says why a pod is in its state. It shares no memory with the Facts.
type Explanation struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// At is Facts.Now.
	At time.Time `json:"at"`
	// Sentence names the pod, its phase and the nearest cause.
	Sentence string      `json:"sentence"`
	Phase    v1.PodPhase `json:"phase"`
	Reason   string      `json:"reason,omitempty"`
	Message  string      `json:"message,omitempty"`
	// Worker is the phase of the pod's worker, "none" without a worker. Incarnation counts the incarnations of
	// the UID. Doing is the present step of the worker.
	Worker      string `json:"worker"`
	Incarnation uint64 `json:"incarnation,omitempty"`
	Doing       string `json:"doing,omitempty"`
	// Fault is the fault of a manifest of the pod; nil: there is none.
	Fault *Fault `json:"fault,omitempty"`
	// Waits has everything that the pod waits for, the nearest cause first. It is empty for a pod that runs
	// normally.
	Waits []string `json:"waits,omitempty"`
	// Next is the next planned sync; nil: none is planned, or a sync is running.
	Next       *Next       `json:"next,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	// Conditions are the conditions that show a problem.
	Conditions []Condition `json:"conditions,omitempty"`
	// Probes are the probes of running containers.
	Probes  []Probe `json:"probes,omitempty"`
	History []Entry `json:"history,omitempty"`
}

// Next is a planned sync and its reason.
type Next struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// Kind is the kind of a container.
type Kind string

// The kinds of containers.
const (
	// Init containers exit before the regular containers start.
	Init Kind = "init container"
	// Sidecar is a restartable init container.
	Sidecar Kind = "sidecar"
	// Regular containers are the containers of spec.containers.
	Regular Kind = "container"
	// Ephemeral containers were added to a running pod.
	Ephemeral Kind = "ephemeral container"
)

// Container is the state of one container.
type Container struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// State is waiting, running, terminated, or empty if it is unknown.
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is the start time of a running container.
	Since    time.Time `json:"since,omitzero"`
	Ready    bool      `json:"ready"`
	Started  bool      `json:"started"`
	Restarts int32     `json:"restarts"`
	// NotBefore is the earliest time of the next start; zero: any time.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// LastEnd is the last exit of the container; nil: it never exited.
	LastEnd *End `json:"lastEnd,omitempty"`
	// Problem is a clause that describes the problem of the container; empty: there is none.
	Problem string `json:"says,omitempty"`
}

// End is the exit of a container.
type End struct {
	ExitCode int32     `json:"exitCode"`
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Condition is a condition of the pod that shows a problem.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// RingSize is the maximum number of entries in a Ring.
const RingSize = 32

// Entry is an event of a pod. Equal consecutive events are one entry.
type Entry struct {
	At   time.Time `json:"at"`   // time of the last one
	What string    `json:"what"` // phase, status, action, sync or probe
	Text string    `json:"text"`
	Err  string    `json:"error,omitempty"`
	// Times is the number of equal consecutive events; 0 is one.
	Times int `json:"times,omitempty"`
}
