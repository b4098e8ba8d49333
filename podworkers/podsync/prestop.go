package podsync

import (
	"context"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// afterPreStop runs the preStop hook of a container that is to be stopped, and then stop. A
// hook runs only if the container has one, it has not been begun in this kill, and there is
// time for it (KC-12). A hook that fails changes nothing. An error means that the call was cut
// short.
//
// A hook is waited for until the grace period is over. What it runs is not ended then: it goes
// on beside stop, until the container has stopped, as in the kubelet. A command that unlocks
// or flushes something has the last two seconds too.
func (s *Syncer) afterPreStop(ctx context.Context, v *syncPass, t *target, stop func() error) error {
	if t.PreStop == nil || t.kill.told || !s.executor.Now().Before(t.kill.by) {
		return stop()
	}
	t.kill.told = true
	h := hook{purpose: runtime.PreStopHook, handler: t.PreStop, id: t.id, name: t.name, ports: t.Ports, by: t.kill.by}
	if t.PreStop.Sleep != nil {
		if err := s.preStop(ctx, v, t, h); err != nil {
			return err
		}
		return stop()
	}
	beside, cancel := s.executor.WithDeadline(ctx, t.kill.by.Add(minimumGrace))
	defer cancel()
	var answer, err error
	answered := s.executor.NewLatch()
	h.run = func(ctx context.Context) error {
		if err := answered.Wait(ctx); err != nil {
			return err
		}
		return answer
	}
	executor.Each(s.executor, 0, 2, func(i int) {
		if i == 0 {
			defer answered.Open()
			answer = s.perform(beside, v, h)
			return
		}
		defer cancel()
		if err = s.preStop(ctx, v, t, h); err == nil {
			err = stop()
		}
	})
	return err
}

// preStop runs a hook, or waits for it, and records an event if it has failed.
func (s *Syncer) preStop(ctx context.Context, v *syncPass, t *target, h hook) error {
	err := s.hook(ctx, v, RunPreStopHook, h)
	failed, ok := contain.AsType[*hookFailure](err)
	if !ok {
		return err
	}
	s.warn(v, t.name, eventPreStop, "The PreStop hook of container %s failed: %s", t.name, failed)
	return nil
}
