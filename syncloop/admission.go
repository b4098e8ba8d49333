package syncloop

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// PodAdmitHandler decides whether a pod may run on the node. The loop calls it, and any goroutine may call it in
// Handlers.Fits, so calls may overlap. It must not block.
type PodAdmitHandler interface {
	// Admit decides about one new pod. It is not called if an earlier handler of the chain has refused the
	// pod. If it panics the pod waits, and the next housekeeping calls the whole chain again. A second panic
	// rejects the pod with the reason UnexpectedAdmissionError.
	//
	// If the chain refuses a pod while other pods terminate, the chain is called again without the terminating
	// pods. That call is a trial. If the trial admits the pod, the pod waits, and after each change the chain
	// is called again. Fits makes trials only, and calls each handler whatever the others answer. So the
	// answer must depend on attrs alone, Admit must store nothing between calls, and a trial must have no side
	// effects.
	Admit(attrs PodAdmitAttributes) PodAdmitResult
}

// PodAdmitFunc is a function that implements PodAdmitHandler.
type PodAdmitFunc func(attrs PodAdmitAttributes) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f PodAdmitFunc) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs) }

// PodAdmitAloneFunc is a function that implements PodAdmitHandler and does not read OtherPods. OtherPods is
// nil in its calls, so a node with thousands of pods does not have to list them.
type PodAdmitAloneFunc func(attrs PodAdmitAttributes) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f PodAdmitAloneFunc) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs) }

// PodAdmitAttributes are the input of an admission handler. The handler must not modify them.
type PodAdmitAttributes struct {
	// Pod is the pod to be admitted.
	Pod *v1.Pod
	// OtherPods are all other pods that use resources of the node: admitted pods, waiting pods and, except in
	// a trial, terminating pods whose containers have not stopped. The list is valid during the call.
	OtherPods []*v1.Pod
	// Trial is true if the answer decides nothing, for example a question about the node without its
	// terminating pods.
	Trial bool

	snapshot *allocation.Snapshot // the sums of OtherPods; nil if they are not known
}

// Requested returns how much of a resource OtherPods request together. In a chain of Handlers it takes the
// same time for any number of pods.
func (a PodAdmitAttributes) Requested(name v1.ResourceName) resource.Quantity {
	beside := a.snapshot
	if beside == nil {
		sum := newSnapshotOfPods(allocation.NewChain(), a.OtherPods)
		beside = &sum
	}
	total := beside.Staying.Requested(name)
	total.Add(beside.Terminating.Requested(name))
	return total
}

// PodAdmitResult is the answer of an admission handler.
type PodAdmitResult struct {
	// Admit is true if the handler admits the pod.
	Admit bool
	// Reason is one word for the pod's status, set when Admit is false.
	Reason string
	// Message is one sentence for people, set when Admit is false.
	Message string
	// Pending keeps a refused pod Pending instead of rejecting it. Reason is the reason of its status and of
	// one event; without a Reason there is no event. The chain is called again after each Recheck. A handler
	// that returns Pending should follow all handlers that can reject the pod.
	Pending bool
	// Reasons are all reasons of the refusal, for Handlers.Fits. If it is nil, Reason and Message are the only
	// reason. Refused returns a result with Reasons.
	Reasons []allocation.Reason

	short allocation.Shortage // how long the refusal stands; set by handlers of this package
}

// admitted is the result of a handler that admits the pod.
var admitted = PodAdmitResult{Admit: true}

// needsOtherPods reports whether an admission handler may read the list of the other pods. The built-in rules,
// the rules of the host program and a PodAdmitAloneFunc do not.
func needsOtherPods(handler PodAdmitHandler) bool {
	switch handler.(type) {
	case ruleHandler, PodAdmitAloneFunc:
		return false
	}
	return true
}
