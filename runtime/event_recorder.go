package runtime

import k8sruntime "k8s.io/apimachinery/pkg/runtime"

// EventRecorder records events about pods, which "kubectl describe" shows. It is the part of
// client-go's record.EventRecorder that Podkeel uses. A client-go recorder implements it.
//
// Every package of this module that records events has an EventRecorder in its Config, where nil
// discards events. The methods are called concurrently, without a lock held, on the goroutine that
// does the work, a few times per call of a runtime or a prober at most. They must return soon. They
// return no error. A panic loses the event and has no other effect.
type EventRecorder interface {
	// Event records an event about object, a *v1.Pod or *v1.ObjectReference, which must not be
	// modified. eventtype is v1.EventTypeNormal or v1.EventTypeWarning. reason is one word in
	// CamelCase. message is a sentence.
	Event(object k8sruntime.Object, eventtype, reason, message string)
	// Eventf is Event with a message that fmt.Sprintf formats.
	Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any)
}
