package runtimetest

import (
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

var streamCases = []Case{
	{"exec-stream/exit", "a streamed command that fails ends with its code", byStream.exit},
	{"exec-stream/output", "the output of a streamed command comes when it is printed, all of it before the end", streamOutput},
	{"exec-stream/context", "the end of the context ends the wait for a streamed command", byStream.context},
	{"exec-stream/unknown", "a streamed command in an unknown container is ErrNotFound", byStream.unknown},
	{"exec-stream/not-running", "a streamed command in a container that does not run is ErrWrongState", byStream.notRunning},
}

func streamer(b *bench) (runtime.ExecStreamer, bool) {
	return feature(b, b.features().ExecStreamer, "ExecStreamer")
}

func streamOutput(b *bench) {
	x, ok := streamer(b)
	if !ok {
		return
	}
	_, _, id := b.run(b.h.Forever)
	var t text
	ended := b.executor.NewLatch()
	var code int32
	var err error
	b.others.Go(func() {
		defer ended.Open()
		code, err = x.ExecStream(b.ctx, runtime.ExecStreamRequest{ContainerID: id, Command: b.h.Print(printed, 3)}, runtime.Streams{
			Stdin: strings.NewReader(""), Stdout: &t, Stderr: &t,
		})
	})
	var first string
	b.until("the first line comes", func() bool {
		first = t.String()
		return first != ""
	})
	b.Check(first != printedText && !ended.Opened(), "no line came before the end")
	b.until("ExecStream returns", ended.Opened)
	b.Must(err, "ExecStream")
	b.Check(t.String() == printedText && code == 3, "it printed %q and ended with %d", t.String(), code)
}
