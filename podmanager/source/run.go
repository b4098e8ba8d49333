package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// The pause before a failed source runs again.
const (
	minPause = time.Second
	maxPause = 20 * time.Second
)

// maxReportedErrors bounds the memory for reported errors of a source. A source that returns
// another error each time is not reported any further after that many.
const maxReportedErrors = 32

// Run runs all sources until ctx ends, restarts those that fail, and returns when the last one has
// returned. A second call returns runtime.ErrSecondRun.
func (m *Mux) Run(ctx context.Context) error {
	m.mu.Lock()
	ran := m.mu.ran
	m.mu.ran = true
	m.mu.Unlock()
	if ran {
		return fmt.Errorf("source: %w", runtime.ErrSecondRun)
	}
	g := executor.NewGroup(m.executor)
	for _, in := range m.inboxes {
		g.Go(func() { m.runWithRestarts(ctx, in) })
	}
	// If no source needs a goroutine, Run still waits for the end of ctx.
	_ = m.executor.NewEvent().Wait(ctx)
	g.Wait()
	return nil
}

// runWithRestarts runs one source until it returns nil, ctx is cancelled or the simulated process crashes.
// After any other error it waits and runs the source again; the wait doubles up to maxPause. It reports each
// error text once, and at most maxReportedErrors texts. After a run of more than maxPause the wait and the
// reports begin from the start.
func (m *Mux) runWithRestarts(ctx context.Context, in *inbox) {
	pause, told := minPause, map[string]bool{}
	for {
		began := m.executor.Now()
		err := m.runSourceRecovering(ctx, in)
		if err == nil || ctx.Err() != nil || errors.Is(err, executor.ErrCrashed) {
			return
		}
		if m.executor.Now().Sub(began) > maxPause {
			pause = minPause // It ran long enough, so this is a new failure.
			clear(told)
		}
		if text := err.Error(); !told[text] && len(told) < maxReportedErrors {
			told[text] = true
			m.logAndReportFailure(in.name, err)
		}
		if m.executor.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// logAndReportFailure logs the failure of a source and calls Hooks.Failed.
func (m *Mux) logAndReportFailure(name string, err error) {
	m.cfg.Log.Error("A source failed and keeps its last state", "source", name, "err", err)
	m.cfg.Hooks.Failed(name, err)
}

// ErrPanicked is the error of a source that panicked.
var ErrPanicked = errors.New("source: panicked")

// runSourceRecovering calls Run of a source, which lasts until the source ends, and returns its error. A panic
// is reported and becomes an error.
func (m *Mux) runSourceRecovering(ctx context.Context, in *inbox) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %w", ErrPanicked, m.guard.HandlePanic("Sources["+strconv.Quote(in.name)+"].Run", v))
		}
	}()
	return in.src.Run(ctx, in)
}
