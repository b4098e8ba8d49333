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

// maxTold bounds how many different failures of a source are remembered as
// told. One whose every error is different is silent after so many.
const maxTold = 32

// Run runs all sources until ctx ends, restarting those that fail, and returns
// when the last has returned. A second call returns runtime.ErrSecondRun.
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
		g.Go(func() { m.keepRunning(ctx, in) })
	}
	// Sources that need no goroutine leave the Mux none, but it still runs.
	_ = m.executor.NewEvent().Wait(ctx)
	g.Wait()
	return nil
}

// keepRunning runs one source until it needs no more running.
func (m *Mux) keepRunning(ctx context.Context, in *inbox) {
	pause, told := minPause, map[string]bool{}
	for {
		began := m.executor.Now()
		err := m.runOnce(ctx, in)
		if err == nil || ctx.Err() != nil || errors.Is(err, executor.ErrCrashed) {
			return
		}
		if m.executor.Now().Sub(began) > maxPause {
			pause = minPause // It ran well, so this is a new trouble.
			clear(told)
		}
		if text := err.Error(); !told[text] && len(told) < maxTold {
			told[text] = true
			m.tell(in.name, err)
		}
		if m.executor.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// tell says that a source has failed.
func (m *Mux) tell(name string, err error) {
	m.cfg.Log.Error("A source failed and keeps its last state", "source", name, "err", err)
	m.cfg.Hooks.Failed(name, err)
}

// ErrPanicked is what a panic of a source has become.
var ErrPanicked = errors.New("source: panicked")

// runOnce contains a source's panic: it is one source's trouble only.
func (m *Mux) runOnce(ctx context.Context, in *inbox) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %w", ErrPanicked, m.guard.HandlePanic("Sources["+strconv.Quote(in.name)+"].Run", v))
		}
	}()
	return in.src.Run(ctx, in)
}
