package runtimetest

import (
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

var streamCases = []Case{
	{"exec-stream/exit", "ExecStream returns the exit code of a command that fails", viaExecStream.checkExitCodes},
	{"exec-stream/output", "ExecStream writes output as soon as it is printed, and all of it before it returns", checkStreamOutput},
	{"exec-stream/context", "ExecStream returns an error when its context ends", viaExecStream.checkStopsWithContext},
	{"exec-stream/unknown", "ExecStream in an unknown container is ErrNotFound", viaExecStream.checkUnknownContainer},
	{"exec-stream/not-running", "ExecStream in a container that does not run is ErrWrongState", viaExecStream.checkStoppedContainer},
}

func execStreamerOrSkip(b *bench) (runtime.ExecStreamer, bool) {
	return roleOrSkip(b, b.features().ExecStreamer, "ExecStreamer")
}

func checkStreamOutput(b *bench) {
	x, ok := execStreamerOrSkip(b)
	if !ok {
		return
	}
	_, _, id := b.runContainer(b.h.Forever)
	var t safeBuffer
	ended := b.executor.NewLatch()
	var code int32
	var err error
	b.background.Go(func() {
		defer ended.Open()
		code, err = x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Print(printLines, 3)}, runtime.Streams{
			Stdin: strings.NewReader(""), Stdout: &t, Stderr: &t,
		})
	})
	var first string
	b.waitFor("the first line arrives", func() bool {
		first = t.String()
		return first != ""
	})
	b.Check(first != printOutput && !ended.Opened(), "no line arrived while the command was running")
	b.waitFor("ExecStream returns", ended.Opened)
	b.Must(err, "ExecStream")
	b.Check(t.String() == printOutput && code == 3, "ExecStream wrote %q and returned exit code %d, want %q and 3", t.String(), code, printOutput)
}
