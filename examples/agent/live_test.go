package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// TestLive: the embedded examples on a terminal.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 200, 30)
		time.AfterFunc(5500*time.Millisecond, func() {
			assert.Equal(t, `NAME             READY   STATUS                       RESTARTS     AGE
config-n         1/2     CreateContainerConfigError   0            5s
crash-looper-n   0/1     CrashLoopBackOff             1 (3s ago)   5s
deadline-n       1/1     Running                      0            5s
hooks-n          1/2     CrashLoopBackOff             1 (3s ago)   5s
init-chain-n     1/1     Running                      0            5s
job-n            0/1     Completed                    0            5s
probes-n         1/1     Running                      0            5s
rules-n          2/2     Running                      1 (3s ago)   5s
sidecars-n       3/3     Running                      0            5s
stubborn-n       1/1     Running                      0            5s
volumes-n        2/2     Running                      0            5s
web-n            1/1     Running                      0            5s
_
`, table5(e))
		})
		code := run([]string{"--listen", "", "--node-name", "n", "--for", "1m10s"}, nil, e, e)
		assert.Equal(t, exitOK, code)
		assert.Regexp(t, `(?m)^crash-looper-n +0/1 +CrashLoopBackOff +3 \(..s ago\) +70s$`, table5(e))
		assert.Regexp(t, `(?m)^job-n +0/1 +Completed +0 +70s$`, table5(e))
		assert.Regexp(t, `(?m)^deadline-n +0/1 +DeadlineExceeded +0 +70s$`, table5(e))
		said := strings.Join(e.scrolled, "\n") + "\n" + e.String()
		assert.Contains(t, said, `level=INFO msg="the agent runs"`)
		assert.Contains(t, said, `why="--for is over"`)
		assert.Contains(t, said, " Normal Started pod/default/web-n: Container server started\n")
		assert.Contains(t, said, " Warning BackOff pod/default/crash-looper-n: Back-off restarting failed container unlucky in pod crash-looper-n_default, next try in 10s\n")
		for _, line := range strings.Split(said, "\n") {
			assert.NotRegexp(t, `Running.*msg=|Running.*Normal`, line, "a torn line")
		}
		assert.Less(t, e.count(), 150, "no more often than there was something to see")
	})
}

// table5 returns the table at the end of the screen.
func table5(e *emulator) string {
	screen := e.String()
	return screen[max(strings.Index(screen, "NAME"), 0):]
}

// TestLive_LimitsRedraws: a thousand changes at once cause one redraw.
func TestLive_LimitsRedraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 80, 24)
		l := newLiveTable(e)
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); l.drawUntilDone(ctx) }()
		for range 100 { // A second of it.
			for i := range 100 {
				require.NoError(t, l.updatePod(shown("default", fmt.Sprint("web-", i), types.UID(fmt.Sprint(i)), running)))
			}
			_, _ = fmt.Fprintln(l, "log")
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		assert.LessOrEqual(t, e.count(), 11)
		assert.Contains(t, e.String(), "... 79 more not shown\n_")
		before := e.count()
		time.Sleep(5 * time.Minute)
		assert.LessOrEqual(t, e.count()-before, 301, "only the ages move")
		for i := range 100 {
			gone := shown("default", fmt.Sprint("web-", i), types.UID(fmt.Sprint(i)), running)
			gone.Gone = true
			require.NoError(t, l.updatePod(gone))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		before = e.count()
		time.Sleep(time.Hour)
		assert.Equal(t, before, e.count(), "nothing moves where nothing is")
		assert.NotContains(t, e.String(), "NAME")
		end()
		<-over
	})
}

// TestLive_Resize: a new size is applied within a second.
func TestLive_Resize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 80, 24)
		l := newLiveTable(e)
		l.table.now = func() time.Time { return start }
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); l.drawUntilDone(ctx) }()
		require.NoError(t, l.updatePod(shown("default", "web", "1", running)))
		time.Sleep(2 * time.Second)
		e.resize(24, 5)
		time.Sleep(2 * time.Second)
		assert.Equal(t, "NAME   READY   STATUS\nweb    1/1     Running\n_\n", e.String())
		end()
		<-over
	})
}

// paused is a terminal that its user has stopped with Ctrl-S.
type paused struct{ blocked }

func (paused) Size() (width, height int) { return 80, 24 }

// TestLive_Paused: neither the node nor its exit waits for a paused terminal, and the waiting lines are bounded.
func TestLive_Paused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := paused{make(blocked)}
		begun := time.Now()
		assert.Equal(t, exitOK, run([]string{"--listen", "", "--for", "1m"}, nil, out, out))
		assert.Equal(t, time.Minute+outputFlushTimeout, time.Since(begun))
		close(out.blocked)
	})
	l := newLiveTable(nil)
	for range 2 * maxAbove {
		_, _ = fmt.Fprintln(l, "log")
	}
	assert.Len(t, l.mu.above, maxAbove)
	assert.Equal(t, maxAbove, l.mu.lost)
}

// TestLive_BlockingLines: all output of containers is shown, also a large amount at once.
func TestLive_BlockingLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, 80, 24)
		l := newLiveTable(e)
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); l.drawUntilDone(ctx) }()
		for i := range 3 * maxAbove {
			_, err := fmt.Fprintln(blockingLines{l}, "line", i)
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		end()
		<-over
		var lines []string
		for line := range strings.Lines(strings.Join(e.scrolled, "\n") + "\n" + e.String()) {
			if strings.HasPrefix(line, "line ") {
				lines = append(lines, line)
			}
		}
		assert.Len(t, lines, 3*maxAbove)
		for range 2 * maxAbove {
			_, _ = fmt.Fprintln(blockingLines{l}, "nobody draws any more")
		}
	})
}

// broken is a terminal whose window was closed.
type broken struct{}

func (broken) Size() (width, height int)   { return 80, 24 }
func (broken) Write(p []byte) (int, error) { return 0, errors.New("input/output error") }

// TestLive_TerminalClosed: the node continues if the terminal is closed.
func TestLive_TerminalClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var log output
		assert.Equal(t, exitOK, run([]string{"--listen", "", "--for", "1m"}, nil, broken{}, &log))
		assert.Equal(t, time.Minute, time.Since(begun))
		assert.Contains(t, log.String(), `msg="cannot write to the output; no more changes are printed" err="input/output error"`)
	})
}
