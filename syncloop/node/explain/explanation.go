package explain

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
	// Says is what is amiss with it, in a clause; empty: nothing.
	Says string `json:"says,omitempty"`
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
