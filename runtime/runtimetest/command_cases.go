package runtimetest

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// commands is a way to run one in a container. What holds for all ways is said here.
type commands struct {
	verb string
	// find returns what runs a command, or skips the case.
	find func(b *bench) (run runCommand, ok bool)
}

type runCommand func(ctx context.Context, id string, command []string) (exitCode int32, err error)

var byExec = commands{"Exec", func(b *bench) (runCommand, bool) {
	x, ok := execer(b)
	return func(ctx context.Context, id string, command []string) (int32, error) {
		res, err := x.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: command})
		return res.ExitCode, err
	}, ok
}}

var byStream = commands{"ExecStream", func(b *bench) (runCommand, bool) {
	x, ok := streamer(b)
	return func(ctx context.Context, id string, command []string) (int32, error) {
		// Nobody takes what it prints, and nobody has anything to say to it.
		return x.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: command}, runtime.Streams{})
	}, ok
}}

func (c commands) exit(b *bench) {
	run, ok := c.find(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	for _, code := range []int{0, 1, 42} {
		got, err := run(b.ctx, id, b.h.Exit(0, code))
		b.Must(err, c.verb)
		b.Check(got == int32(code), "exit %d is reported as %d", code, got)
	}
	b.Check(b.container(ref, id).State == runtime.StateRunning, "the end of the command ended the container")
}

func (c commands) context(b *bench) {
	run, ok := c.find(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.timed(func() { _, err = run(ctx, id, b.h.Exit(5*time.Minute, 0)) })
	b.Check(err != nil, "a command that had not ended has a code")
	b.Check(took <= time.Second+b.h.Slack, "it returned after %s, its context had ended after one second", took)
	b.Check(b.container(ref, id).State == runtime.StateRunning, "the container ended with it")
}

func (c commands) unknown(b *bench) {
	run, ok := c.find(b)
	if !ok {
		return
	}
	_, err := run(b.ctx, b.name+"-no-such-container", b.h.Exit(0, 0))
	b.is(err, runtime.ErrNotFound, c.verb)
}

func (c commands) notRunning(b *bench) {
	run, ok := c.find(b)
	if !ok {
		return
	}
	b.notRunning(func(id, state string) {
		b.Helper()
		_, err := run(b.ctx, id, b.h.Exit(0, 0))
		b.is(err, runtime.ErrWrongState, c.verb+" in a container that "+state)
	})
}

// notRunning calls f for a container before its start and for one after its end.
func (b *bench) notRunning(f func(id, state string)) {
	b.Helper()
	ref := b.pod()
	sandbox := b.sandbox(ref, 0)
	created := b.create(ref, sandbox, "created", 0, b.h.Forever)
	exited := b.create(ref, sandbox, "exited", 0, b.h.Exit(0, 0))
	b.start(exited)
	b.exited(ref, exited)
	f(created, "has not been started")
	f(exited, "has exited")
}
