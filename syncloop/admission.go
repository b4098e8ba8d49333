package syncloop

import (
	v1 "k8s.io/api/core/v1"
)

// PodAdmitHandler decides whether a pod may run on this node. It is called on
// the loop, by one goroutine, and must not block.
type PodAdmitHandler interface {
	// Admit is asked once about every pod that a source has begun to want,
	// unless a handler before it in the chain has refused. A panic counts as
	// a refusal.
	Admit(attrs PodAdmitAttributes) PodAdmitResult
}

// PodAdmitFunc is a PodAdmitHandler made of a function.
type PodAdmitFunc func(attrs PodAdmitAttributes) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f PodAdmitFunc) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs) }

// PodAdmitAttributes is what an admission handler may look at. Nothing in it
// may be modified.
type PodAdmitAttributes struct {
	// Pod asks to be admitted.
	Pod *v1.Pod
	// OtherPods are all pods that are active on the node, without Pod: those
	// that are wanted, were not rejected, and have not ended.
	OtherPods []*v1.Pod
}

// PodAdmitResult is the answer of an admission handler.
type PodAdmitResult struct {
	// Admit is true if the handler has nothing against the pod.
	Admit bool
	// Reason is one word for the pod's status, set when Admit is false.
	Reason string
	// Message is one sentence for people, set when Admit is false.
	Message string
}

// admitted is the answer of a handler with no objection.
var admitted = PodAdmitResult{Admit: true}

// admit asks the chain in its order; the first refusal wins (AD-3). A handler
// that panics has admitted nothing; what it has to say is for the log.
func admit(chain []PodAdmitHandler, attrs PodAdmitAttributes) (result PodAdmitResult, fault error) {
	for _, h := range chain {
		if fault = contain(func() { result = h.Admit(attrs) }); fault != nil {
			return PodAdmitResult{
				Reason:  "UnexpectedAdmissionError",
				Message: "an admission handler failed; the node's log has the details",
			}, fault
		}
		if !result.Admit {
			return result, nil
		}
	}
	return admitted, nil
}
