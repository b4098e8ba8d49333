package syncloop

import (
	v1 "k8s.io/api/core/v1"
)

// PodAdmitHandler decides whether a pod may run on this node. It is called on
// the loop, by one goroutine, and must not block.
type PodAdmitHandler interface {
	// Admit is asked once about every pod that a source has begun to want,
	// unless a handler before it in the chain has refused. If it panics the pod
	// waits, and the whole chain is asked again by the next housekeeping; a second
	// panic counts as a refusal, with the reason UnexpectedAdmissionError.
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

// ask asks the chain in its order; the first refusal wins (AD-3). A handler that
// panics has admitted nothing, and is the error.
func (h *Handlers) ask(attrs PodAdmitAttributes) (result PodAdmitResult, err error) {
	for _, handler := range h.config.Admit {
		if err := h.guard.Do("PodAdmitHandler.Admit", func() { result = handler.Admit(attrs) }); err != nil {
			return PodAdmitResult{}, err
		}
		if !result.Admit {
			return result, nil
		}
	}
	return admitted, nil
}
