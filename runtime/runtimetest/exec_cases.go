package runtimetest

import (
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var execCases = []Case{
	{"exec/exit", "a command that fails is a result with its code", execExit},
	{"exec/output", "the output of a command is both streams, in order or one after the other", execOutput},
	{"exec/limit", "output is cut to the limit, and the command runs to its end", execLimit},
	{"exec/context", "the end of the context ends the wait for a command", execContext},
	{"exec/unknown", "a command in an unknown container is ErrNotFound", execUnknown},
	{"exec/not-running", "a command in a container that does not run is ErrWrongState", execNotRunning},
}

// power finds an optional power of the runtime, or skips the case.
func power[P any](b *bench, name string) (P, bool) {
	p, ok := b.rt.(P)
	if !ok {
		b.Skipf("the runtime is no %s", name)
	}
	return p, ok
}

func execer(b *bench) (runtime.Execer, bool) { return power[runtime.Execer](b, "Execer") }

// printed are the lines that the cases have printed, and what that comes to.
var printed = []string{"one", "two", "three"}

const printedText = "one\ntwo\nthree\n"

func execExit(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	for _, code := range []int{0, 1, 42} {
		res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Exit(0, code)})
		b.must(err, "Exec")
		b.check(res.ExitCode == int32(code), "exit %d is reported as %d", code, res.ExitCode)
	}
	b.check(b.container(ref, id).State == runtime.StateRunning, "the end of the command ended the container")
}

func execOutput(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printed, 3)})
	b.must(err, "Exec")
	want := printedText
	if b.h.StreamsApart {
		want = "one\nthree\ntwo\n"
	}
	b.check(string(res.Output) == want && res.ExitCode == 3, "it printed %q and ended with %d", res.Output, res.ExitCode)
}

func execLimit(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	const limit = 5
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printed, 3), OutputLimit: limit})
	b.must(err, "Exec")
	b.check(string(res.Output) == printedText[:limit], "of %q the first %d bytes are %q", printedText, limit, res.Output)
	b.check(res.ExitCode == 3, "it ended with %d", res.ExitCode)
}

func execContext(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	ref, _, id := b.run(b.h.Forever)
	ctx, cancel := b.turn.WithDeadline(b.ctx, b.turn.Now().Add(time.Second))
	defer cancel()
	var err error
	took := b.timed(func() {
		_, err = x.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Exit(5*time.Minute, 0)})
	})
	b.check(err != nil, "a command that had not ended is a result")
	b.check(took <= time.Second+b.h.Slack, "it returned after %s, its context had ended after one second", took)
	b.check(b.container(ref, id).State == runtime.StateRunning, "the container ended with it")
}

func execUnknown(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	_, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: b.name + "-no-such-container", Command: b.h.Exit(0, 0)})
	b.is(err, runtime.ErrNotFound, "Exec")
}

func execNotRunning(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	b.notRunning(func(id, state string) {
		b.Helper()
		_, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Exit(0, 0)})
		b.is(err, runtime.ErrWrongState, "Exec in a container that "+state)
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

// printing is the script of a shell that prints lines, one a second, to both
// streams in turn.
func printing(lines []string) string {
	var script strings.Builder
	for i, line := range lines {
		if i > 0 {
			script.WriteString("sleep 1; ")
		}
		script.WriteString("echo " + line)
		if i%2 == 1 {
			script.WriteString(" >&2")
		}
		script.WriteString("; ")
	}
	return script.String()
}
