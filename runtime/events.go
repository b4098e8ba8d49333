package runtime

import k8sruntime "k8s.io/apimachinery/pkg/runtime"

// EventRecorder records events about pods, as "kubectl describe" lists them. It is the
// part of client-go's record.EventRecorder that Podkeel uses: one of client-go fits,
// and so does any type with these two methods.
//
// Every package of this module that records events takes one in its Config, where nil
// drops them. Its methods are called concurrently, without a lock held, on the goroutine that
// does the work the event is about: at most a few times for each call of a runtime or of a
// prober. They return soon and cannot fail; a panic loses the event and nothing
// else.
type EventRecorder interface {
	// Event records that something has happened to object, a *v1.Pod or an
	// *v1.ObjectReference that is not to be changed. eventtype is v1.EventTypeNormal or
	// v1.EventTypeWarning, reason one word in CamelCase, and message a sentence.
	Event(object k8sruntime.Object, eventtype, reason, message string)
	// Eventf is Event with a message made by fmt.Sprintf.
	Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any)
}
