package nodetest

import (
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// discardReportsAfterCrash makes a simulated node report no event, status or timeline record when isCrashed returns
// true. SIGKILL ends an agent at once, but the code of a simulated node still returns from its calls, with an error
// that the code would report.
func discardReportsAfterCrash(n *node.Config, isCrashed func() bool) {
	switch inner := n.Recorder.(type) {
	case nil:
	case annotatedRecorder:
		n.Recorder = &crashedAnnotatedRecorder{crashedRecorder{inner, isCrashed}, inner}
	default:
		n.Recorder = &crashedRecorder{inner, isCrashed}
	}
	if status := n.Hooks.Status; status != nil {
		n.Hooks.Status = func(pod *v1.Pod, s *v1.PodStatus) {
			if !isCrashed() {
				status(pod, s)
			}
		}
	}
	if record := n.Hooks.Timeline; record != nil {
		n.Hooks.Timeline = func(uid types.UID, r timeline.Record) {
			if !isCrashed() {
				record(uid, r)
			}
		}
	}
}

// crashedRecorder passes events to inner until isCrashed returns true.
type crashedRecorder struct {
	inner     runtime.EventRecorder
	isCrashed func() bool
}

// Event implements runtime.EventRecorder.
func (r *crashedRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	if !r.isCrashed() {
		r.inner.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder.
func (r *crashedRecorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	if !r.isCrashed() {
		r.inner.Eventf(object, eventtype, reason, messageFmt, args...)
	}
}

// annotatedRecorder is an event recorder that can add annotations to events. A node uses the method if its recorder has
// it.
type annotatedRecorder interface {
	runtime.EventRecorder
	AnnotatedEventf(object k8sruntime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any)
}

// crashedAnnotatedRecorder is a crashedRecorder of a recorder that can add annotations.
type crashedAnnotatedRecorder struct {
	crashedRecorder
	annotated annotatedRecorder
}

// AnnotatedEventf passes an event with annotations on until isCrashed returns true.
func (r *crashedAnnotatedRecorder) AnnotatedEventf(object k8sruntime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any) {
	if !r.isCrashed() {
		r.annotated.AnnotatedEventf(object, annotations, eventtype, reason, messageFmt, args...)
	}
}
