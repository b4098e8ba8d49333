package runtimetest

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// execMethod is a method that runs a command in a container. The cases of Exec and ExecStream share
// its checks.
type execMethod struct {
	name string
	// runner returns a function that runs a command, or skips the case.
	runner func(b *bench) (run runCommand, ok bool)
}

// runCommand runs a command in a container and returns its exit code.
type runCommand func(ctx context.Context, id string, command []string) (exitCode int32, err error)

var viaExec = execMethod{"Exec", func(b *bench) (runCommand, bool) {
	x, ok := execerOrSkip(b)
	return func(ctx context.Context, id string, command []string) (int32, error) {
		res, err := x.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: command})
		return res.ExitCode, err
	}, ok
}}

var viaExecStream = execMethod{"ExecStream", func(b *bench) (runCommand, bool) {
	x, ok := execStreamerOrSkip(b)
	return func(ctx context.Context, id string, command []string) (int32, error) {
		// No stream is connected.
		return x.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: command}, runtime.Streams{})
	}, ok
}}

// checkExitCodes fails the case if the method does not return the exit code of a command, or if the container
// stops after the command.
func (c execMethod) checkExitCodes(b *bench) {
	run, ok := c.runner(b)
	if !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Forever)
	for _, code := range []int{0, 1, 42} {
		got, err := run(b.ctx, id, b.h.Exit(0, code))
		b.Must(err, c.name)
		b.Check(got == int32(code), "a command that exits with %d was reported with exit code %d", code, got)
	}
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container does not run after its command has exited")
}

// checkStopsWithContext fails the case if a call does not return an error soon after its context has ended, or
// if the container stops with it.
func (c execMethod) checkStopsWithContext(b *bench) {
	run, ok := c.runner(b)
	if !ok {
		return
	}
	ref, _, id := b.runContainer(b.h.Forever)
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.measureDuration(func() { _, err = run(ctx, id, b.h.Exit(5*time.Minute, 0)) })
	b.Check(err != nil, "the call returned no error although the command was still running when its context ended")
	b.Check(took <= time.Second+b.h.Slack, "the call returned after %s although its context ended after 1s", took)
	b.Check(b.containerStatus(ref, id).State == runtime.StateRunning, "the container does not run after the context of the call has ended")
}

// checkUnknownContainer fails the case if a command in an unknown container does not return ErrNotFound.
func (c execMethod) checkUnknownContainer(b *bench) {
	run, ok := c.runner(b)
	if !ok {
		return
	}
	_, err := run(b.ctx, b.name+"-no-such-container", b.h.Exit(0, 0))
	b.requireErrorIs(err, runtime.ErrNotFound, c.name)
}

// checkStoppedContainer fails the case if a command in a container that was not started or has exited does not
// return ErrWrongState.
func (c execMethod) checkStoppedContainer(b *bench) {
	run, ok := c.runner(b)
	if !ok {
		return
	}
	b.forEachStoppedContainer(func(id, state string) {
		b.Helper()
		_, err := run(b.ctx, id, b.h.Exit(0, 0))
		b.requireErrorIs(err, runtime.ErrWrongState, c.name+" in a container that "+state)
	})
}

// forEachStoppedContainer creates a container that was never started and one that has exited, and calls f once
// with each.
func (b *bench) forEachStoppedContainer(f func(id, state string)) {
	b.Helper()
	ref := b.newPodToCleanUp()
	sandbox := b.runSandbox(ref, 0)
	created := b.createContainer(ref, sandbox, "created", 0, b.h.Forever)
	exited := b.createContainer(ref, sandbox, "exited", 0, b.h.Exit(0, 0))
	b.startContainer(exited)
	b.waitForExit(ref, exited)
	f(created, "has not been started")
	f(exited, "has exited")
}
