package podsync

import (
	"context"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// runPreStopAndStop runs the preStop hook of the container and then calls stop. It runs no hook if there is
// none, if the hook has begun before, or if the grace period is over. A failed hook does not prevent the stop.
// If the handler still runs at the end of the grace period, it calls stop at that time; the handler may run at
// most minGracePeriod longer (KC-12).
func (t *stopTarget) runPreStopAndStop(ctx context.Context, stop func() error) error {
	if t.PreStop == nil || t.stop.HookBegun || !t.executor.Now().Before(t.stop.By) {
		return stop()
	}
	t.stop.HookBegun = true
	h := hook{syncPass: t.syncPass, purpose: runtime.PreStopHook, handler: t.PreStop, id: t.id, name: t.name, ports: t.Ports, deadline: t.stop.By}
	if t.PreStop.Sleep != nil {
		if err := h.runPreStopAndRecord(ctx); err != nil {
			return err
		}
		return stop()
	}
	beside, cancel := t.executor.WithDeadline(ctx, t.stop.By.Add(minGracePeriod))
	defer cancel()
	var answer, err error
	answered := t.executor.NewLatch()
	h.waitForHandler = func(ctx context.Context) error {
		if err := answered.Wait(ctx); err != nil {
			return err
		}
		return answer
	}
	executor.Each(t.executor, 0, 2, func(i int) {
		if i == 0 {
			defer answered.Open()
			answer = h.runHandler(beside)
			return
		}
		defer cancel()
		if err = h.runPreStopAndRecord(ctx); err == nil {
			err = stop()
		}
	})
	return err
}

// runPreStopAndRecord runs the preStop hook, or waits for the hook if another goroutine runs it. If the hook
// fails, it records a Warning event and returns nil. It returns an error only if the call was cancelled.
func (h hook) runPreStopAndRecord(ctx context.Context) error {
	err := h.runHookAndReport(ctx, RunPreStopHook)
	failed, ok := contain.AsType[*hookFailure](err)
	if !ok {
		return err
	}
	h.recordWarning(h.name, eventPreStop, "The PreStop hook of container %s failed: %s", h.name, failed)
	return nil
}
