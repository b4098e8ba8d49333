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

// digest is a log of many nodes that have the same trouble: the first line of a message is
// written at once, and the others are counted until flush.
type digest struct {
	slog.Handler
	*messages
}

// messages are what all handlers of a log have written.
type messages struct {
	mu    sync.Mutex
	out   io.Writer
	times map[string]int
}

// Write writes whole lines.
func (m *messages) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Write(line)
}

func newDigest(out io.Writer) *digest {
	m := &messages{out: out, times: map[string]int{}}
	return &digest{slog.NewTextHandler(m, &slog.HandlerOptions{Level: slog.LevelWarn}), m}
}

// Handle implements slog.Handler.
func (d *digest) Handle(ctx context.Context, r slog.Record) error {
	d.mu.Lock()
	d.times[r.Message]++
	first := d.times[r.Message] == 1
	d.mu.Unlock()
	if !first {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d *digest) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &digest{d.Handler.WithAttrs(attrs), d.messages}
}

// WithGroup implements slog.Handler.
func (d *digest) WithGroup(name string) slog.Handler {
	return &digest{d.Handler.WithGroup(name), d.messages}
}

// flush writes how often each message has come since the last flush, if more than once.
func (d *digest) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, message := range slices.Sorted(maps.Keys(d.times)) {
		if n := d.times[message]; n > 1 {
			fmt.Fprintf(d.out, "%d more times: %s\n", n-1, message)
		}
	}
	clear(d.times)
}
