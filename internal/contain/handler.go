package contain

import (
	"context"
	"log/slog"
)

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

// caught notes a panic without logging it: the log is what panics.
func (h *handler) caught(value any) error {
	p := newPanic(logCall, value)
	h.guard.Note(logCall, p)
	return p
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if v := recover(); v != nil {
			_ = h.caught(v)
		}
	}()
	return h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = h.caught(v)
		}
	}()
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
	defer func() {
		if v := recover(); v != nil {
			_ = h.caught(v)
			derived = h
		}
	}()
	return &handler{derive(), h.guard}
}
