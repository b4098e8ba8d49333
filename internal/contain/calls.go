package contain

import (
	"context"
	"log/slog"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/runtime"
)

// CallWithResult calls f, whose panic becomes its error.
func CallWithResult[T any](g *Guard, call string, f func() (T, error)) (value T, err error) {
	defer g.Recover(call, &err)
	return f()
}

// CallOrDefault calls f, and gives another value if that panics.
func CallOrDefault[T any](g *Guard, call string, other T, f func() T) (value T) {
	defer func() {
		if v := recover(); v != nil {
			_ = g.HandlePanic(call, v)
			value = other
		}
	}()
	return f()
}

// Jitter is f contained: a number in the middle if it panics, or returns what is not in
// [0,1). Nil stays nil.
func Jitter(g *Guard, f func() float64) func() float64 {
	if f == nil {
		return nil
	}
	return func() float64 {
		if r := CallOrDefault(g, "Jitter", 0.5, f); r >= 0 && r < 1 {
			return r
		}
		return 0.5
	}
}

// Hook1 is a hook contained. Nil becomes one that does nothing.
func Hook1[A any](g *Guard, call string, hook func(A)) func(A) {
	if hook == nil {
		return func(A) {}
	}
	return func(a A) { _ = g.Call(call, func() { hook(a) }) }
}

// Hook2 is Hook1 of two arguments.
func Hook2[A, B any](g *Guard, call string, hook func(A, B)) func(A, B) {
	if hook == nil {
		return func(A, B) {}
	}
	return func(a A, b B) { _ = g.Call(call, func() { hook(a, b) }) }
}

// Hook3 is Hook1 of three arguments.
func Hook3[A, B, C any](g *Guard, call string, hook func(A, B, C)) func(A, B, C) {
	if hook == nil {
		return func(A, B, C) {}
	}
	return func(a A, b B, c C) { _ = g.Call(call, func() { hook(a, b, c) }) }
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
	_ = r.guard.Call("Recorder.Event", func() { r.inner.Event(object, eventtype, reason, message) })
}

// Eventf passes an event on.
func (r *Recorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	_ = r.guard.Call("Recorder.Eventf", func() { r.inner.Eventf(object, eventtype, reason, messageFmt, args...) })
}

// logCall is the name of all calls of a log handler.
const logCall = "Log.Handler"

// Logger is a logger whose handler is contained. One that is contained already
// stays as it is, with the Guard it has. Nil is a logger that discards.
func (g *Guard) Logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, done := log.Handler().(*handler); done || log.Handler() == slog.DiscardHandler {
		return log
	}
	return slog.New(&handler{log.Handler(), g})
}

// handler contains the panics of another one. A record that it panics over is
// lost.
type handler struct {
	inner slog.Handler
	guard *Guard
}

// recover is deferred; it notes a panic without logging it: the log is what panics.
func (h *handler) recover(err *error) {
	if v := recover(); v != nil {
		p := newPanic(logCall, v)
		h.guard.RecordPanic(logCall, p)
		*err = p
	}
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	defer h.recover(new(error))
	return h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer h.recover(&err)
	return h.inner.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func() slog.Handler { return h.inner.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.with(func() slog.Handler { return h.inner.WithGroup(name) })
}

// with is a handler derived from this one, or this one after a panic.
func (h *handler) with(derive func() slog.Handler) (derived slog.Handler) {
	derived = h
	defer h.recover(new(error))
	return &handler{derive(), h.guard}
}
