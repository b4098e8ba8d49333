package contain

import (
	"context"
	"log/slog"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/runtime"
)

// CallWithResult calls f. It returns a panic of f as an error.
func CallWithResult[T any](g *Guard, call string, f func() (T, error)) (value T, err error) {
	defer g.Recover(call, &err)
	return f()
}

// CallOrDefault calls f, and returns fallback if f panics.
func CallOrDefault[T any](g *Guard, call string, fallback T, f func() T) (value T) {
	defer func() {
		if v := recover(); v != nil {
			_ = g.HandlePanic(call, v)
			value = fallback
		}
	}()
	return f()
}

// Jitter wraps f: the result is 0.5 if f panics or returns a number outside [0,1). A nil f stays nil.
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

// Hook1 wraps a hook so that its panic is contained. A nil hook becomes one that does nothing.
func Hook1[A any](g *Guard, call string, hook func(A)) func(A) {
	if hook == nil {
		return func(A) {}
	}
	return func(a A) { _ = g.Call(call, func() { hook(a) }) }
}

// Hook2 is Hook1 for a hook with two arguments.
func Hook2[A, B any](g *Guard, call string, hook func(A, B)) func(A, B) {
	if hook == nil {
		return func(A, B) {}
	}
	return func(a A, b B) { _ = g.Call(call, func() { hook(a, b) }) }
}

// Hook3 is Hook1 for a hook with three arguments.
func Hook3[A, B, C any](g *Guard, call string, hook func(A, B, C)) func(A, B, C) {
	if hook == nil {
		return func(A, B, C) {}
	}
	return func(a A, b B, c C) { _ = g.Call(call, func() { hook(a, b, c) }) }
}

// Recorder is an event recorder whose panics are contained. An event is lost if the recorder panics.
type Recorder struct {
	inner runtime.EventRecorder
	guard *Guard
}

// NewRecorder wraps a recorder. A nil recorder becomes one that discards all events. A *Recorder is returned unchanged.
func NewRecorder(g *Guard, r runtime.EventRecorder) *Recorder {
	switch r := r.(type) {
	case nil:
		return &Recorder{discardRecorder{}, g}
	case *Recorder:
		return r
	}
	return &Recorder{r, g}
}

// discardRecorder discards all events.
type discardRecorder struct{}

func (discardRecorder) Event(k8sruntime.Object, string, string, string)          {}
func (discardRecorder) Eventf(k8sruntime.Object, string, string, string, ...any) {}

// Event forwards an event.
func (r *Recorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	_ = r.guard.Call("Recorder.Event", func() { r.inner.Event(object, eventtype, reason, message) })
}

// Eventf forwards an event.
func (r *Recorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	_ = r.guard.Call("Recorder.Eventf", func() { r.inner.Eventf(object, eventtype, reason, messageFmt, args...) })
}

// logCall is the name of every call of a log handler.
const logCall = "Log.Handler"

// Logger wraps the handler of a logger so that its panics are contained. A logger that was wrapped before is returned
// unchanged. A nil logger becomes one that discards everything.
func (g *Guard) Logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, done := log.Handler().(*guardedHandler); done || log.Handler() == slog.DiscardHandler {
		return log
	}
	return slog.New(&guardedHandler{log.Handler(), g})
}

// guardedHandler contains the panics of another handler. A record is lost if the handler panics.
type guardedHandler struct {
	inner slog.Handler
	guard *Guard
}

// recoverAndCountPanic must be deferred. It recovers a panic of the log handler, stores it in err, and counts it. It
// does not log the panic, because the log handler is what panics.
func (h *guardedHandler) recoverAndCountPanic(err *error) {
	if v := recover(); v != nil {
		p := newPanicOrReraise(logCall, v)
		h.guard.RecordPanic(logCall, p)
		*err = p
	}
}

// Enabled implements slog.Handler.
func (h *guardedHandler) Enabled(ctx context.Context, level slog.Level) bool {
	defer h.recoverAndCountPanic(new(error))
	return h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *guardedHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer h.recoverAndCountPanic(&err)
	return h.inner.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *guardedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.deriveOrSelfAfterPanic(func() slog.Handler { return h.inner.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *guardedHandler) WithGroup(name string) slog.Handler {
	return h.deriveOrSelfAfterPanic(func() slog.Handler { return h.inner.WithGroup(name) })
}

// deriveOrSelfAfterPanic returns a guardedHandler around the handler that deriveInner returns. If deriveInner
// panics, it returns h itself.
func (h *guardedHandler) deriveOrSelfAfterPanic(deriveInner func() slog.Handler) (derived slog.Handler) {
	derived = h
	defer h.recoverAndCountPanic(new(error))
	return &guardedHandler{deriveInner(), h.guard}
}
