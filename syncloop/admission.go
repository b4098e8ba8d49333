package syncloop

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// PodAdmitHandler decides whether a pod may run on this node. It is called on
// the loop, and, in trials, by any goroutine that calls Handlers.Fits, so possibly by
// several at once. It must not block.
type PodAdmitHandler interface {
	// Admit is asked about every pod that a source has begun to want, unless a
	// handler before it in the chain has refused. If it panics the pod waits, and the
	// whole chain is asked again by the next housekeeping; a second panic counts as a
	// refusal, with the reason UnexpectedAdmissionError.
	//
	// If the chain refuses a pod while others are ending, it is asked what it would
	// say without those: that question is a trial. If it admits the pod then, the pod
	// waits, and the chain is asked again, any number of times, whenever something
	// has changed. Fits asks trials only, and asks each handler whatever the others say. So
	// Admit must answer from its attributes alone, and keep nothing from one question to
	// the next; what it does beside answering it does not do in a trial.
	Admit(attrs PodAdmitAttributes) PodAdmitResult
}

// PodAdmitFunc is a PodAdmitHandler made of a function.
type PodAdmitFunc func(attrs PodAdmitAttributes) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f PodAdmitFunc) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs) }

// PodAdmitAloneFunc is a PodAdmitHandler made of a function that does not look at
// OtherPods, and is given none: a node with thousands of pods need not list them.
type PodAdmitAloneFunc func(attrs PodAdmitAttributes) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f PodAdmitAloneFunc) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs) }

// PodAdmitAttributes is what an admission handler may look at. Nothing in it
// may be modified.
type PodAdmitAttributes struct {
	// Pod asks to be admitted.
	Pod *v1.Pod
	// OtherPods are all pods that take something of the node, without Pod: those
	// that were admitted, or wait, and have not ended, and, except in a trial,
	// those that are ending: their containers have not stopped. It is valid during
	// the call.
	OtherPods []*v1.Pod
	// Trial: nothing is decided by the answer. The question is what it would be, without
	// the pods that are ending, say.
	Trial bool

	snapshot *allocation.Snapshot // OtherPods, added up; nil: they have to be
}

// Requested is how much of a resource OtherPods request together. Where the node
// asks it takes the same time for any number of pods.
func (a PodAdmitAttributes) Requested(name v1.ResourceName) resource.Quantity {
	beside := a.snapshot
	if beside == nil {
		sum := snapshotWith(allocation.NewChain(), a.OtherPods)
		beside = &sum
	}
	total := beside.Staying.Requested(name)
	total.Add(beside.Terminating.Requested(name))
	return total
}

// PodAdmitResult is the answer of an admission handler.
type PodAdmitResult struct {
	// Admit is true if the handler has nothing against the pod.
	Admit bool
	// Reason is one word for the pod's status, set when Admit is false.
	Reason string
	// Message is one sentence for people, set when Admit is false.
	Message string
	// Pending: the pod is not rejected. It stays Pending with this reason, which an event
	// tells once, and the chain is asked about it again after each Recheck. Without a Reason
	// there is no event. A handler that says so goes after all that may reject the pod.
	Pending bool
	// Reasons are all reasons of the refusal, one by one, for Handlers.Fits. Nil: Reason and
	// Message are the only one. Refused makes such a result.
	Reasons []allocation.Reason

	short allocation.Shortage // of handlers of this package: a reason that stands
}

// admitted is the answer of a handler with no objection.
var admitted = PodAdmitResult{Admit: true}

// needsOtherPods reports whether a handler looks at each of the other pods.
func needsOtherPods(handler PodAdmitHandler) bool {
	switch handler.(type) {
	case ruleHandler, PodAdmitAloneFunc:
		return false
	}
	return true
}
