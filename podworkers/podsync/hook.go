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

// hook is one hook of one container in a sync pass.
type hook struct {
	*syncPass
	purpose  runtime.Purpose
	handler  *v1.LifecycleHandler
	id, name string // of the container
	ports    []v1.ContainerPort
	by       time.Time // when it must have ended
	// wait waits for a handler that another goroutine runs. Nil: run calls the handler itself. It ends
	// with ctx.
	wait func(ctx context.Context) error
}

// run runs the hook. It returns nil if the hook has succeeded, or slept until its container ended. It
// returns a *hookFailure, which may be an ErrHookTimeout, if the hook has failed. Any other error
// means that the call was cut short, and says nothing about the hook.
func (h hook) run(ctx context.Context, action Action) error {
	return h.runAction(ctx, Result{Action: action, Target: h.name}, func() error {
		began := h.executor.Now()
		err := h.runInTime(ctx)
		if errors.Is(err, errContainerEnded) {
			h.cfg.Log.DebugContext(ctx, "a container ended while its hook ran", "uid", h.pod.UID, "container", h.name, "hook", h.purpose)
			return nil
		}
		if errors.Is(err, ErrHookTimeout) {
			err = &hookFailure{fmt.Sprintf("it did not end within %s", h.by.Sub(began)), ErrHookTimeout}
		}
		if failed, ok := contain.AsType[*hookFailure](err); ok {
			h.cfg.Log.DebugContext(ctx, "hook failed", "uid", h.pod.UID, "container", h.name, "hook", h.purpose, "err", err, "cause", failed.cause)
		}
		return err
	})
}

// runInTime runs the hook until its time is over or its container has ended.
func (h hook) runInTime(ctx context.Context) error {
	within, cancel := h.executor.WithDeadline(ctx, h.by)
	defer cancel()
	w := &hookWait{container: h.id, ended: h.executor.NewLatch(), cancel: cancel}
	defer h.hooks.startWait(h.pod.UID, w)()
	if h.handler.Sleep != nil {
		return h.sleep(ctx, w)
	}
	call := h.wait
	if call == nil {
		call = h.callHandler
	}
	err := call(within)
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

// sleep waits for the seconds of a sleep handler. It returns errContainerEnded if the container
// ends first.
func (h hook) sleep(ctx context.Context, w *hookWait) error {
	d, now := podspec.SecondsToDuration(h.handler.Sleep.Seconds), h.executor.Now()
	left := max(h.by.Sub(now), 0)
	within, cancel := h.executor.WithDeadline(ctx, now.Add(min(d, left)))
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

// callHandler calls the handler of the hook, if it is no sleep. It ends with ctx.
func (h hook) callHandler(ctx context.Context) error {
	runner := h.runtimeFeatures().HandlerRunner
	switch {
	case h.handler.Exec == nil && h.handler.HTTPGet == nil:
		return &hookFailure{text: "its handler is of no kind that is run"} // A tcpSocket fails everywhere.
	case runner != nil:
		return h.callRuntime(ctx, runner)
	case h.handler.Exec != nil:
		return h.execCommand(ctx)
	}
	return h.getHTTP(ctx)
}

// callRuntime has the runtime answer for the container.
func (h hook) callRuntime(ctx context.Context, runner runtime.HandlerRunner) error {
	answer, err := runner.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: h.id, Purpose: h.purpose})
	switch {
	case err != nil:
		return &hookFailure{"it could not be run", err}
	case !answer.OK:
		return &hookFailure{"its answer was a failure", errors.New(answer.Message)}
	}
	return nil
}

// execCommand runs the command of the hook in the container. It expands no variables: the command
// has the environment of its container, and may run a shell.
func (h hook) execCommand(ctx context.Context) error {
	execer := h.runtimeFeatures().Execer
	if execer == nil {
		return &hookFailure{"the runtime runs no commands", runtime.ErrUnsupported}
	}
	result, err := execer.Exec(ctx, runtime.ExecRequest{ContainerID: h.id, Command: h.handler.Exec.Command})
	switch {
	case err != nil:
		return &hookFailure{"its command could not be run", err}
	case result.ExitCode != 0:
		return &hookFailure{text: fmt.Sprintf("its command exited with %d", result.ExitCode)}
	}
	return nil
}
