package runtimetest

import (
	"io"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var streamCases = []Case{
	{"exec-stream/exit", "a streamed command that fails ends with its code", streamExit},
	{"exec-stream/output", "the output of a streamed command comes when it is printed, all of it before the end", streamOutput},
	{"exec-stream/context", "the end of the context ends the wait for a streamed command", streamContext},
	{"exec-stream/unknown", "a streamed command in an unknown container is ErrNotFound", streamUnknown},
	{"exec-stream/not-running", "a streamed command in a container that does not run is ErrWrongState", streamNotRunning},
}

func streamer(b *bench) (runtime.ExecStreamer, bool) {
	return power[runtime.ExecStreamer](b, "ExecStreamer")
}

func streamExit(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	for _, code := range []int{0, 1, 42} {
		for _, streams := range []runtime.Streams{{}, {Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}} {
			got, err := x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Exit(0, code)}, streams)
			b.must(err, "ExecStream")
			b.check(got == int32(code), "exit %d is reported as %d", code, got)
		}
	}
	b.check(b.container(ref, id).State == runtime.StateRunning, "the end of the command ended the container")
}

func streamOutput(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	var t text
	ended := b.turn.NewLatch()
	var code int32
	var err error
	b.others.Go(func() {
		defer ended.Open()
		code, err = x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Print(printed, 3)}, runtime.Streams{Stdout: &t, Stderr: &t})
	})
	b.until("the first line comes", func() bool { return t.String() != "" })
	b.check(!ended.Opened(), "no line came before the end")
	b.until("ExecStream returns", ended.Opened)
	b.must(err, "ExecStream")
	b.check(t.String() == printedText && code == 3, "it printed %q and ended with %d", t.String(), code)
}

func streamContext(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	ctx, cancel := b.turn.WithDeadline(b.ctx, b.turn.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.timed(func() {
		_, err = x.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Exit(5*time.Minute, 0)}, runtime.Streams{Stdout: io.Discard})
	})
	b.check(err != nil, "a command that had not ended has a code")
	b.check(took <= time.Second+b.h.Slack, "it returned after %s, its context had ended after one second", took)
	b.check(b.container(ref, id).State == runtime.StateRunning, "the container ended with it")
}

func streamUnknown(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	_, err := x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: b.name + "-no-such-container", Command: b.h.Exit(0, 0)}, runtime.Streams{})
	b.is(err, runtime.ErrNotFound, "ExecStream")
}

func streamNotRunning(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	b.notRunning(func(id, state string) {
		b.Helper()
		_, err := x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Exit(0, 0)}, runtime.Streams{})
		b.is(err, runtime.ErrWrongState, "ExecStream in a container that "+state)
	})
}
