package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestRateLimitedHandler: a repeated message is written once a minute, whatever the query of its request and the number
// of failures. A message about another subject is written at once.
func TestRateLimitedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(newRateLimitedHandler(&out))
		failed := func(collection, cause string, failures int) {
			err := fmt.Errorf("feed: %w", &url.Error{Op: "Get", URL: fmt.Sprintf("https://192.0.2.1/pods?seconds=%d", failures), Err: errors.New(cause)})
			log.Warn("failed", "collection", collection, "failures", failures, "err", err)
		}
		written := func() string {
			defer out.Reset()
			return out.String()
		}
		const at = "time=2000-01-01T00:00:00.000Z level=WARN msg=failed "
		failed("pods", "refused", 1)
		failed("pods", "refused", 2)
		failed("nodes", "refused", 1)
		failed("pods", "reset", 3)
		log.Info("nothing")
		assert.Equal(t, at+`collection=pods failures=1 err="Get https://192.0.2.1/pods: refused"`+"\n"+
			at+`collection=nodes failures=1 err="Get https://192.0.2.1/pods: refused"`+"\n"+
			at+`collection=pods failures=3 err="Get https://192.0.2.1/pods: reset"`+"\n", written())
		log.With("node", "a").Warn("same")
		log.With("node", "b").Warn("same")
		log.With("node", "b").Warn("same")
		assert.Equal(t, 2, bytes.Count([]byte(written()), []byte("\n")))
		time.Sleep(repeatPeriod - time.Nanosecond)
		failed("pods", "refused", 4)
		assert.Empty(t, written())
		time.Sleep(time.Nanosecond)
		failed("pods", "refused", 5)
		assert.NotEmpty(t, written())
		for i := range 2 * maxRecent {
			log.Warn("many", "i", i)
		}
		assert.LessOrEqual(t, len(log.Handler().(*rateLimitedHandler).recent.written), maxRecent)
	})
}

// late is a pipe that is full until it is released.
type late struct {
	bytes.Buffer
	free chan struct{}
}

func (l *late) Write(p []byte) (int, error) {
	<-l.free
	return l.Buffer.Write(p)
}

// TestRun_NoReader: the program does not wait for a reader of its output.
func TestRun_NoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, logs := &late{free: make(chan struct{})}, &late{free: make(chan struct{})}
		begun := time.Now()
		assert.Equal(t, 0, run(t.Context(), nil, out, logs))
		assert.Equal(t, 2, run(t.Context(), []string{"--bad"}, out, logs))
		assert.Equal(t, 2*outputFlushTimeout, time.Since(begun))
		close(out.free)
		close(logs.free)
		synctest.Wait()
		assert.Equal(t, program.Guidance, out.String())
		assert.Equal(t, "cluster: flag provided but not defined: --bad; --help shows all flags\n", logs.String())
	})
}
