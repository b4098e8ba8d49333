package runtimetest

import (
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

var execCases = []Case{
	{"exec/exit", "a command that fails is a result with its code", byExec.exit},
	{"exec/output", "the output of a command is both streams, in order or one after the other", execOutput},
	{"exec/limit", "output is cut to the limit, and the command runs to its end", execLimit},
	{"exec/context", "the end of the context ends the wait for a command", byExec.context},
	{"exec/unknown", "a command in an unknown container is ErrNotFound", byExec.unknown},
	{"exec/not-running", "a command in a container that does not run is ErrWrongState", byExec.notRunning},
}

// feature returns an optional role of the runtime, under watch. It skips the case if role is nil,
// which is what the runtime's Features have.
func feature[P comparable](b *bench, role P, name string) (P, bool) {
	if none := *new(P); role == none {
		b.Skipf("the runtime is no %s", name)
		return none, false
	}
	watched, ok := any(b.rt).(P)
	return watched, ok
}

func (b *bench) features() runtime.Features { return b.rt.features() }

func execer(b *bench) (runtime.Execer, bool) { return feature(b, b.features().Execer, "Execer") }

// printed are the lines that the cases have printed, and what that comes to.
var printed = []string{"one", "two", "three"}

const printedText = "one\ntwo\nthree\n"

func execOutput(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printed, 3)})
	b.Must(err, "Exec")
	want := printedText
	if b.h.StreamsApart {
		want = "one\nthree\ntwo\n"
	}
	b.Check(string(res.Output) == want && res.ExitCode == 3, "it printed %q and ended with %d", res.Output, res.ExitCode)
}

func execLimit(b *bench) {
	x, ok := execer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	const limit = 5
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printed, 3), OutputLimit: limit})
	b.Must(err, "Exec")
	b.Check(string(res.Output) == printedText[:limit], "of %q the first %d bytes are %q", printedText, limit, res.Output)
	b.Check(res.ExitCode == 3, "it ended with %d", res.ExitCode)
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
