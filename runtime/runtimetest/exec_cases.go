package runtimetest

import (
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

var execCases = []Case{
	{"exec/exit", "a command that fails is a result with its exit code", viaExec.checkExitCodes},
	{"exec/output", "Output has both streams, in the order of writing or stdout first", checkExecOutput},
	{"exec/limit", "Output is truncated to the limit, and the command runs until it exits", checkExecOutputLimit},
	{"exec/context", "Exec returns an error when its context ends", viaExec.checkStopsWithContext},
	{"exec/unknown", "Exec in an unknown container is ErrNotFound", viaExec.checkUnknownContainer},
	{"exec/not-running", "Exec in a container that does not run is ErrWrongState", viaExec.checkStoppedContainer},
}

// roleOrSkip returns an optional role (interface) of the runtime with monitored calls. If role is nil, because
// the runtime does not have it, roleOrSkip skips the case and returns false.
func roleOrSkip[P comparable](b *bench, role P, name string) (monitored P, present bool) {
	if none := *new(P); role == none {
		b.Skipf("the runtime is not a %s", name)
		return none, false
	}
	watched, ok := any(b.rt).(P)
	return watched, ok
}

func (b *bench) features() runtime.Features { return b.rt.innerFeatures() }

func execerOrSkip(b *bench) (runtime.Execer, bool) {
	return roleOrSkip(b, b.features().Execer, "Execer")
}

// printLines are the lines that commands and containers print.
var printLines = []string{"one", "two", "three"}

const printOutput = "one\ntwo\nthree\n"

func checkExecOutput(b *bench) {
	x, ok := execerOrSkip(b)
	if !ok {
		return
	}
	_, _, id := b.runContainer(b.h.Forever)
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printLines, 3)})
	b.Must(err, "Exec")
	want := printOutput
	if b.h.StdoutFirst {
		want = "one\nthree\ntwo\n"
	}
	b.Check(string(res.Output) == want && res.ExitCode == 3, "the output is %q and the exit code %d, want %q and 3", res.Output, res.ExitCode, want)
}

func checkExecOutputLimit(b *bench) {
	x, ok := execerOrSkip(b)
	if !ok {
		return
	}
	_, _, id := b.runContainer(b.h.Forever)
	const limit = 5
	res, err := x.Exec(b.ctx, runtime.ExecRequest{ContainerID: id, Command: b.h.Print(printLines, 3), OutputLimit: limit})
	b.Must(err, "Exec")
	b.Check(string(res.Output) == printOutput[:limit], "of the output %q truncated to %d bytes, Exec returned %q", printOutput, limit, res.Output)
	b.Check(res.ExitCode == 3, "the exit code is %d, want 3", res.ExitCode)
}

// printScript returns a shell script that prints lines, one per second, alternating between stdout and stderr.
func printScript(lines []string) string {
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
