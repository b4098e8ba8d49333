package podsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// ErrHookTimeout is a hook that did not end within its time.
var ErrHookTimeout = errors.New("podsync: the hook did not end in time")

// hookFailure is a hook that was run and failed, or could not be run. Its text
// is for everybody: what a container prints may be a secret, and so may what a
// runtime says of it.
type hookFailure struct {
	text  string
	cause error // for the log
}

func (f *hookFailure) Error() string { return f.text }
func (f *hookFailure) Unwrap() error { return f.cause }

// hook is one hook of one container.
type hook struct {
	purpose  runtime.Purpose
	handler  *v1.LifecycleHandler
	id, name string // of the container
	ports    []v1.ContainerPort
	by       time.Time // when it must have ended
	// run runs the hook, or waits for one that runs; nil runs it. It ends with ctx.
	run func(ctx context.Context) error
}

// hook runs a hook. It returns nil if the hook has succeeded, or slept until its container ended. It
// returns a *hookFailure, which may be an ErrHookTimeout, if the hook has failed. Any other error
// means that the call was cut short, and says nothing about the hook.
func (s *Syncer) hook(ctx context.Context, v *syncPass, action Action, h hook) error {
	return s.do(ctx, v, Result{Action: action, Target: h.name}, func() error {
		began := s.executor.Now()
		err := s.within(ctx, v, h)
		if errors.Is(err, errContainerEnded) {
			s.cfg.Log.DebugContext(ctx, "a container ended while its hook ran", "uid", v.pod.UID, "container", h.name, "hook", h.purpose)
			return nil
		}
		if errors.Is(err, ErrHookTimeout) {
			err = &hookFailure{fmt.Sprintf("it did not end within %s", h.by.Sub(began)), ErrHookTimeout}
		}
		if failed, ok := contain.AsType[*hookFailure](err); ok {
			s.cfg.Log.DebugContext(ctx, "hook failed", "uid", v.pod.UID, "container", h.name, "hook", h.purpose, "err", err, "cause", failed.cause)
		}
		return err
	})
}

// within runs a hook until its time is over or its container has ended.
func (s *Syncer) within(ctx context.Context, v *syncPass, h hook) error {
	within, cancel := s.executor.WithDeadline(ctx, h.by)
	defer cancel()
	w := &hookWait{container: h.id, ended: s.executor.NewLatch(), cancel: cancel}
	defer s.hooks.add(v.pod.UID, w)()
	if h.handler.Sleep != nil {
		return s.sleep(ctx, w, podspec.Seconds(h.handler.Sleep.Seconds), h.by)
	}
	run := h.run
	if run == nil {
		run = func(ctx context.Context) error { return s.perform(ctx, v, h) }
	}
	err := run(within)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, executor.ErrCrashed):
		return executor.ErrCrashed
	case w.ended.Opened(): // As a runtime says that notices it by itself.
		return &hookFailure{"it could not be run", runtime.ErrWrongState}
	case within.Err() != nil:
		return ErrHookTimeout
	}
	return err
}

// sleep is a hook that waits.
func (s *Syncer) sleep(ctx context.Context, w *hookWait, d time.Duration, by time.Time) error {
	now := s.executor.Now()
	left := max(by.Sub(now), 0)
	within, cancel := s.executor.WithDeadline(ctx, now.Add(min(d, left)))
	defer cancel()
	switch err := w.ended.Wait(within); {
	case err == nil:
		return errContainerEnded
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	case left < d:
		return ErrHookTimeout
	}
	return nil
}

// perform runs a hook that the container takes part in. It ends with ctx.
func (s *Syncer) perform(ctx context.Context, v *syncPass, h hook) error {
	switch {
	case h.handler.Exec == nil && h.handler.HTTPGet == nil:
		return &hookFailure{text: "its handler is of no kind that is run"} // A tcpSocket fails everywhere.
	case s.handlerRunner != nil:
		return s.answer(ctx, h)
	case h.handler.Exec != nil:
		return s.exec(ctx, h)
	}
	return s.get(ctx, v, h)
}

// answer lets the runtime answer for the container.
func (s *Syncer) answer(ctx context.Context, h hook) error {
	answer, err := s.handlerRunner.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: h.id, Purpose: h.purpose})
	switch {
	case err != nil:
		return &hookFailure{"it could not be run", err}
	case !answer.OK:
		return &hookFailure{"its answer was a failure", errors.New(answer.Message)}
	}
	return nil
}

// exec runs a command in the container, as it stands: a hook has the
// environment of its container, and may run a shell there.
func (s *Syncer) exec(ctx context.Context, h hook) error {
	if s.execer == nil {
		return &hookFailure{"the runtime runs no commands", runtime.ErrUnsupported}
	}
	result, err := s.execer.Exec(ctx, runtime.ExecRequest{ContainerID: h.id, Command: h.handler.Exec.Command})
	switch {
	case err != nil:
		return &hookFailure{"its command could not be run", err}
	case result.ExitCode != 0:
		return &hookFailure{text: fmt.Sprintf("its command exited with %d", result.ExitCode)}
	}
	return nil
}
