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

// rateLimitedHandler is a log handler that writes the same message at most once a minute, because a failed call is
// retried until it succeeds.
type rateLimitedHandler struct {
	slog.Handler
	attributes string // the attributes of the logger
	recent     *recentMessages
}

// recentMessages holds the messages of the last minute.
type recentMessages struct {
	sync.Mutex
	written map[string]time.Time
}

const (
	repeatPeriod = time.Minute
	maxRecent    = 1000
)

// newRateLimitedHandler returns a log handler that writes warnings and errors to out. It writes the same
// message at most once in repeatPeriod.
func newRateLimitedHandler(out io.Writer) *rateLimitedHandler {
	return &rateLimitedHandler{recent: &recentMessages{written: map[string]time.Time{}}, Handler: slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return slog.Attr{Key: a.Key, Value: withoutQuery(a.Value)} },
	})}
}

// withoutQuery formats the error of a failed request without the query of its URL, which is long and differs
// each time. It returns any other value unchanged.
func withoutQuery(v slog.Value) slog.Value {
	err, _ := v.Any().(error)
	var request *url.Error
	if !errors.As(err, &request) {
		return v
	}
	address, _, _ := strings.Cut(request.URL, "?")
	return slog.StringValue(fmt.Sprintf("%s %s: %v", request.Op, address, request.Err))
}

// Handle implements slog.Handler. It drops a message that was written with the same attributes within
// repeatPeriod.
func (c *rateLimitedHandler) Handle(ctx context.Context, r slog.Record) error {
	key := r.Message + c.attributes
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "failures" { // The attribute changes with each failure.
			key += fmt.Sprint("\x00", a.Key, withoutQuery(a.Value))
		}
		return true
	})
	if !c.recent.recordIfNotRecent(key, r.Time) {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

// recordIfNotRecent records that a message is written now, and returns true. It returns false and records nothing if
// the message was written within repeatPeriod. If maxRecent messages are recorded, it first removes all, so
// that some are written again.
func (r *recentMessages) recordIfNotRecent(key string, now time.Time) (recorded bool) {
	r.Lock()
	defer r.Unlock()
	if at, ok := r.written[key]; ok && now.Sub(at) < repeatPeriod {
		return false
	}
	if len(r.written) >= maxRecent {
		clear(r.written)
	}
	r.written[key] = now
	return true
}

// WithAttrs implements slog.Handler.
func (c *rateLimitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &rateLimitedHandler{c.Handler.WithAttrs(attrs), c.attributes + fmt.Sprint(attrs), c.recent}
}

// WithGroup implements slog.Handler.
func (c *rateLimitedHandler) WithGroup(name string) slog.Handler {
	return &rateLimitedHandler{c.Handler.WithGroup(name), c.attributes + name, c.recent}
}
