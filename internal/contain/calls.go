package contain

import (
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/runtime"
)

// Value calls f, whose panic becomes its error.
func Value[T any](g *Guard, call string, f func() (T, error)) (value T, err error) {
	defer g.Recover(call, &err)
	return f()
}

// Or calls f, and gives another value if that panics.
func Or[T any](g *Guard, call string, other T, f func() T) (value T) {
	defer func() {
		if v := recover(); v != nil {
			_ = g.Caught(call, v)
			value = other
		}
	}()
	return f()
}

// Jitter is f contained: a number in the middle if it panics. Nil stays nil.
func Jitter(g *Guard, f func() float64) func() float64 {
	if f == nil {
		return nil
	}
	return func() float64 { return Or(g, "Jitter", 0.5, f) }
}

// Hook1 is a hook contained. Nil stays nil.
func Hook1[A any](g *Guard, call string, hook func(A)) func(A) {
	if hook == nil {
		return nil
	}
	return func(a A) { _ = g.Do(call, func() { hook(a) }) }
}

// Hook2 is Hook1 of two arguments.
func Hook2[A, B any](g *Guard, call string, hook func(A, B)) func(A, B) {
	if hook == nil {
		return nil
	}
	return func(a A, b B) { _ = g.Do(call, func() { hook(a, b) }) }
}

// Hook3 is Hook1 of three arguments.
func Hook3[A, B, C any](g *Guard, call string, hook func(A, B, C)) func(A, B, C) {
	if hook == nil {
		return nil
	}
	return func(a A, b B, c C) { _ = g.Do(call, func() { hook(a, b, c) }) }
}

// Recorder is an event recorder contained. An event that is panicked over is lost.
type Recorder struct {
	inner runtime.EventRecorder
	guard *Guard
}

// NewRecorder contains a recorder; nil becomes one that drops every event. One that is
// contained already stays as it is.
func NewRecorder(g *Guard, r runtime.EventRecorder) *Recorder {
	switch r := r.(type) {
	case nil:
		return &Recorder{silent{}, g}
	case *Recorder:
		return r
	}
	return &Recorder{r, g}
}

// silent is the recorder of an embedder that wants no events.
type silent struct{}

func (silent) Event(k8sruntime.Object, string, string, string)          {}
func (silent) Eventf(k8sruntime.Object, string, string, string, ...any) {}

// Event passes an event on.
func (r *Recorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	_ = r.guard.Do("Recorder.Event", func() { r.inner.Event(object, eventtype, reason, message) })
}

// Eventf passes an event on.
func (r *Recorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	_ = r.guard.Do("Recorder.Eventf", func() { r.inner.Eventf(object, eventtype, reason, messageFmt, args...) })
}
