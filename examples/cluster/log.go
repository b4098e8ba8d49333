package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"
)

// calm is a log for people: a message about the same thing is written at most once a minute,
// as what failed is tried again and again until it succeeds.
type calm struct {
	slog.Handler
	about  string // the attributes of the logger
	recent *recent
}

// recent are the messages of the last minute.
type recent struct {
	sync.Mutex
	written map[string]time.Time
}

const (
	calmPeriod = time.Minute
	mostRecent = 1000
)

func newCalm(out io.Writer) *calm {
	return &calm{recent: &recent{written: map[string]time.Time{}}, Handler: slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return slog.Attr{Key: a.Key, Value: withoutQuery(a.Value)} },
	})}
}

// withoutQuery cuts the query of the address of a failed request, which is long, and never
// the same.
func withoutQuery(v slog.Value) slog.Value {
	err, _ := v.Any().(error)
	var request *url.Error
	if !errors.As(err, &request) {
		return v
	}
	address, _, _ := strings.Cut(request.URL, "?")
	return slog.StringValue(fmt.Sprintf("%s %s: %v", request.Op, address, request.Err))
}

// Handle implements slog.Handler.
func (c *calm) Handle(ctx context.Context, r slog.Record) error {
	key := r.Message + c.about
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "failures" { // It counts.
			key += fmt.Sprint("\x00", a.Key, withoutQuery(a.Value))
		}
		return true
	})
	if !c.recent.news(key, r.Time) {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

// news reports whether a message has not been written for a while, and notes that it is now.
func (r *recent) news(key string, now time.Time) bool {
	r.Lock()
	defer r.Unlock()
	if at, ok := r.written[key]; ok && now.Sub(at) < calmPeriod {
		return false
	}
	if len(r.written) >= mostRecent {
		clear(r.written)
	}
	r.written[key] = now
	return true
}

// WithAttrs implements slog.Handler.
func (c *calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &calm{c.Handler.WithAttrs(attrs), c.about + fmt.Sprint(attrs), c.recent}
}

// WithGroup implements slog.Handler.
func (c *calm) WithGroup(name string) slog.Handler {
	return &calm{c.Handler.WithGroup(name), c.about + name, c.recent}
}
