package podsync

import (
	"context"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// stopAfterPreStop runs the preStop hook of the target and then calls stop. It skips the hook if the
// container has none, if the hook has begun in this kill, or if the grace period is over (KC-12). A hook
// that fails changes nothing. An error means that the call was cut short.
//
// stopAfterPreStop waits for the hook until the grace period is over. The handler is not cancelled then:
// it continues beside stop until the container has stopped, as in the kubelet. A command that unlocks or
// flushes something has the last two seconds too.
func (t *target) stopAfterPreStop(ctx context.Context, stop func() error) error {
	if t.PreStop == nil || t.planned.HookBegun || !t.executor.Now().Before(t.planned.By) {
		return stop()
	}
	t.planned.HookBegun = true
	h := hook{syncPass: t.syncPass, purpose: runtime.PreStopHook, handler: t.PreStop, id: t.id, name: t.name, ports: t.Ports, by: t.planned.By}
	if t.PreStop.Sleep != nil {
		if err := h.preStop(ctx); err != nil {
			return err
		}
		return stop()
	}
	beside, cancel := t.executor.WithDeadline(ctx, t.planned.By.Add(minimumGrace))
	defer cancel()
	var answer, err error
	answered := t.executor.NewLatch()
	h.wait = func(ctx context.Context) error {
		if err := answered.Wait(ctx); err != nil {
			return err
		}
		return answer
	}
	executor.Each(t.executor, 0, 2, func(i int) {
		if i == 0 {
			defer answered.Open()
			answer = h.callHandler(beside)
			return
		}
		defer cancel()
		if err = h.preStop(ctx); err == nil {
			err = stop()
		}
	})
	return err
}

// preStop runs a preStop hook, or waits for it, and records an event if the hook has failed.
func (h hook) preStop(ctx context.Context) error {
	err := h.run(ctx, RunPreStopHook)
	failed, ok := contain.AsType[*hookFailure](err)
	if !ok {
		return err
	}
	h.recordWarning(h.name, eventPreStop, "The PreStop hook of container %s failed: %s", h.name, failed)
	return nil
}
