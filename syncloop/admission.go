package syncloop

import (
	"iter"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
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
	// has changed. Fits asks trials only, each handler whatever the others say. So Admit must answer from its attributes alone, and keep nothing
	// from one question to the next; what it does beside answering it does not do in
	// a trial.
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

// bySums is a handler that looks at what other pods take together, and not at each.
type bySums func(attrs PodAdmitAttributes, others sums) PodAdmitResult

// Admit implements PodAdmitHandler.
func (f bySums) Admit(attrs PodAdmitAttributes) PodAdmitResult { return f(attrs, attrs.taken()) }

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

	sums sums // of OtherPods; nil: they have to be added up
}

// Requested is how much of a resource OtherPods request together. Where the node
// asks it takes the same time for any number of pods.
func (a PodAdmitAttributes) Requested(name v1.ResourceName) resource.Quantity {
	return a.taken().requested(name)
}

// taken is what OtherPods take together.
func (a PodAdmitAttributes) taken() sums {
	if a.sums != nil {
		return a.sums
	}
	sum := new(admission.Sums)
	for i, pod := range a.OtherPods {
		if pod == nil {
			pod = &v1.Pod{} // It counts all the same.
		}
		item := usageOf(pod)
		item.UID = types.UID(strconv.Itoa(i)) // Whatever it is: each of them counts.
		sum.Put(item)
	}
	return sums{sum}
}

// usageOf is what a pod takes by its spec.
func usageOf(pod *v1.Pod) admission.Item {
	item := admission.ItemOf(pod)
	item.Static = podmanager.IsStaticPod(pod)
	item.Source = pod.Annotations[podmanager.ConfigSourceAnnotation]
	return item
}

// sums are those of pods that stay, and of pods that are ending.
type sums []admission.Taken

func (s sums) count() (n int) {
	for _, sum := range s {
		n += sum.Len()
	}
	return n
}

func (s sums) requested(name v1.ResourceName) (total resource.Quantity) {
	for _, sum := range s {
		total.Add(sum.Requested(name))
	}
	return total
}

func (s sums) holder(port podspec.HostPort) (admission.Item, bool) {
	for _, sum := range s {
		if item, taken := sum.Holder(port); taken {
			return item, true
		}
	}
	return admission.Item{}, false
}

func (s sums) named(namespace, name string) (items []admission.Item) {
	for _, sum := range s {
		items = append(items, sum.Named(namespace, name)...)
	}
	return items
}

func (s sums) pods() []*v1.Pod {
	if len(s) == 1 {
		return s[0].Pods()
	}
	var pods []*v1.Pod
	for _, sum := range s {
		pods = append(pods, sum.Pods()...)
	}
	return pods
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
	Reasons []Reason

	short admission.Shortage // of handlers of this package: a reason that stands
}

// admitted is the answer of a handler with no objection.
var admitted = PodAdmitResult{Admit: true}

// ask asks the chain in its order, and yields what is not an admission: a refusal, or the
// panic of a handler. A caller that wants the first refusal only asks no handler after it
// (AD-3).
func (h *Handlers) ask(attrs PodAdmitAttributes) iter.Seq2[PodAdmitResult, error] {
	return func(yield func(PodAdmitResult, error) bool) {
		for _, handler := range h.config.Admit {
			if attrs.OtherPods == nil && listsPods(handler) {
				attrs.OtherPods = attrs.sums.pods()
			}
			var result PodAdmitResult
			err := h.guard.Do("PodAdmitHandler.Admit", func() { result = handler.Admit(attrs) })
			if (err != nil || !result.Admit) && !yield(result, err) {
				return
			}
		}
	}
}

// listsPods reports whether a handler looks at each of the other pods.
func listsPods(handler PodAdmitHandler) bool {
	switch handler.(type) {
	case bySums, PodAdmitAloneFunc:
		return false
	}
	return true
}
