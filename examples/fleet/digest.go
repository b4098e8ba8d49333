package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// dedupHandler is a log handler for many nodes with the same problem. It writes a message when it first occurs, and
// counts repetitions until printAndResetRepeated is called.
type dedupHandler struct {
	slog.Handler
	*messageCounts
}

// messageCounts counts the messages of all handlers of a log.
type messageCounts struct {
	mu     sync.Mutex
	out    io.Writer
	counts map[string]int
}

// Write implements io.Writer for whole lines.
func (m *messageCounts) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Write(line)
}

// newDedupHandler returns a log handler that writes warnings and errors to out. It counts repetitions of a
// message instead of writing them.
func newDedupHandler(out io.Writer) *dedupHandler {
	m := &messageCounts{out: out, counts: map[string]int{}}
	return &dedupHandler{slog.NewTextHandler(m, &slog.HandlerOptions{Level: slog.LevelWarn}), m}
}

// Handle implements slog.Handler.
func (d *dedupHandler) Handle(ctx context.Context, r slog.Record) error {
	d.mu.Lock()
	d.counts[r.Message]++
	first := d.counts[r.Message] == 1
	d.mu.Unlock()
	if !first {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d *dedupHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &dedupHandler{d.Handler.WithAttrs(attrs), d.messageCounts}
}

// WithGroup implements slog.Handler.
func (d *dedupHandler) WithGroup(name string) slog.Handler {
	return &dedupHandler{d.Handler.WithGroup(name), d.messageCounts}
}

// printAndResetRepeated prints how often each message was repeated since the last call, and sets all counts to
// zero.
func (d *dedupHandler) printAndResetRepeated() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, message := range slices.Sorted(maps.Keys(d.counts)) {
		if n := d.counts[message]; n > 1 {
			fmt.Fprintf(d.out, "%d more times: %s\n", n-1, message)
		}
	}
	clear(d.counts)
}
