package podworkers_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// lines is a log that stores its lines without the time.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) newLogger() *slog.Logger {
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: drop}))
}

func (l *lines) allLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(l.buf.String(), "\n"), "\n")
}
