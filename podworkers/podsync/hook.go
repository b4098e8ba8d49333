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

// ErrHookTimeout is the error of a hook that did not finish in time.
var ErrHookTimeout = errors.New("podsync: the hook did not end in time")

// hookFailure is the error of a hook that failed or could not run. Its text is published. So it does
// not have the output of the container or the error of the runtime, which may contain secrets.
type hookFailure struct {
	text  string
	cause error // only for the log
}

func (f *hookFailure) Error() string { return f.text }
func (f *hookFailure) Unwrap() error { return f.cause }

// hook is one hook of one container in a sync.
type hook struct {
	*syncPass
	purpose  runtime.Purpose
	handler  *v1.LifecycleHandler
	id, name string // the ID and the name of the container
	ports    []v1.ContainerPort
	deadline time.Time // the time when the hook must be done
	// waitForHandler waits until the handler, which another goroutine runs, is done or ctx ends. Nil:
	// runHookAndReport calls the handler itself.
	waitForHandler func(ctx context.Context) error
}

// runHookAndReport runs the hook and passes the result to Hooks.ActionDone. It returns nil if the hook
// succeeded, or if the container exited during a sleep hook. If the hook failed, it returns a *hookFailure,
// which after a timeout wraps ErrHookTimeout. Any other error says that the call was cancelled or that the
// simulated process crashed.
func (h hook) runHookAndReport(ctx context.Context, action Action) error {
	return h.runActionAndReport(ctx, Result{Action: action, Target: h.name}, func() error {
		began := h.executor.Now()
		err := h.runUntilDeadlineOrContainerExit(ctx)
		if errors.Is(err, errContainerEnded) {
			h.cfg.Log.DebugContext(ctx, "a container ended while its hook ran", "uid", h.pod.UID, "container", h.name, "hook", h.purpose)
			return nil
		}
		if errors.Is(err, ErrHookTimeout) {
			err = &hookFailure{fmt.Sprintf("it did not end within %s", h.deadline.Sub(began)), ErrHookTimeout}
		}
		if failed, ok := contain.AsType[*hookFailure](err); ok {
			h.cfg.Log.DebugContext(ctx, "hook failed", "uid", h.pod.UID, "container", h.name, "hook", h.purpose, "err", err, "cause", failed.cause)
		}
		return err
	})
}

// runUntilDeadlineOrContainerExit runs the hook until its deadline, or until its container has exited. It returns
// ErrHookTimeout at the deadline. After an exit it returns a *hookFailure, or errContainerEnded for a sleep
// hook.
func (h hook) runUntilDeadlineOrContainerExit(ctx context.Context) error {
	within, cancel := h.executor.WithDeadline(ctx, h.deadline)
	defer cancel()
	w := &hookWait{containerID: h.id, containerEnded: h.executor.NewLatch(), cancel: cancel}
	defer h.hooks.addWait(h.pod.UID, w)()
	if h.handler.Sleep != nil {
		return h.runSleepHook(ctx, w)
	}
	call := h.waitForHandler
	if call == nil {
		call = h.runHandler
	}
	err := call(within)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, executor.ErrCrashed):
		return executor.ErrCrashed
	case w.containerEnded.Opened(): // A runtime that notices the exit itself returns the same error.
		return &hookFailure{"it could not be run", runtime.ErrWrongState}
	case within.Err() != nil:
		return ErrHookTimeout
	}
	return err
}

// runSleepHook waits for the seconds of a sleep handler and returns nil. If the container exits before that, it
// returns errContainerEnded. If the deadline of the hook is earlier, it returns ErrHookTimeout at the deadline.
func (h hook) runSleepHook(ctx context.Context, w *hookWait) error {
	d, now := podspec.SecondsToDuration(h.handler.Sleep.Seconds), h.executor.Now()
	left := max(h.deadline.Sub(now), 0)
	within, cancel := h.executor.WithDeadline(ctx, now.Add(min(d, left)))
	defer cancel()
	switch err := w.containerEnded.Wait(within); {
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

// runHandler runs the exec or HTTP handler of the hook, in the runtime if that has the feature HandlerRunner.
// For any other kind of handler it returns a *hookFailure.
func (h hook) runHandler(ctx context.Context) error {
	runner := h.runtimeFeatures().HandlerRunner
	switch {
	case h.handler.Exec == nil && h.handler.HTTPGet == nil:
		return &hookFailure{text: "its kind of handler is not supported"} // tcpSocket hooks fail everywhere.
	case runner != nil:
		return h.runHandlerInRuntime(ctx, runner)
	case h.handler.Exec != nil:
		return h.execCommand(ctx)
	}
	return h.sendHTTPGet(ctx)
}

// runHandlerInRuntime asks the runtime to run the handler of the hook. It returns a *hookFailure if the runtime
// returns an error or the handler fails.
func (h hook) runHandlerInRuntime(ctx context.Context, runner runtime.HandlerRunner) error {
	answer, err := runner.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: h.id, Purpose: h.purpose})
	switch {
	case err != nil:
		return &hookFailure{"it could not be run", err}
	case !answer.OK:
		return &hookFailure{"its answer was a failure", errors.New(answer.Message)}
	}
	return nil
}

// execCommand runs the command of the hook in the container, without expanding variables. It returns a
// *hookFailure if the runtime cannot run commands, if the runtime returns an error, or if the exit code is not
// 0.
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
