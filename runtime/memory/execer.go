package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/console"
)

// defaultOutputLimit limits the stored output of Exec if the request sets no limit.
const defaultOutputLimit = 16 << 10

// Exec implements runtime.Execer. It is ExecStream without input, and returns the output.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return instrumentCall(ctx, r, "Exec", req, (*Runtime).exec)
}

// exec runs a command in a running container and returns its exit code and its output, which is cut at the
// output limit.
func (r *Runtime) exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	out := limitedBuffer{limit: req.OutputLimit}
	if out.limit <= 0 {
		out.limit = defaultOutputLimit
	}
	code, err := r.execStream(ctx, runtime.ExecStreamRequest{ContainerID: req.ContainerID, Command: req.Command}, runtime.Streams{Stdout: &out, Stderr: &out})
	if err != nil {
		return runtime.ExecResult{}, err
	}
	return runtime.ExecResult{ExitCode: code, Output: out.text}, nil
}

// limitedBuffer stores output up to a limit and discards the rest.
type limitedBuffer struct {
	limit int
	mu    sync.Mutex
	text  []byte
}

// Write implements io.Writer.
func (k *limitedBuffer) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, p[:min(len(p), k.limit-len(k.text))]...)
	return len(p), nil
}

// ExecStream implements runtime.ExecStreamer. It runs the Command of SetCommand, or else a built-in
// program; the package comment lists them. Any other command exits at once with 0. A command exits
// with 137 if its container exits, and with 130 after Ctrl-C on a terminal.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	return instrumentCall(ctx, r, "ExecStream", req, func(r *Runtime, ctx context.Context, req runtime.ExecStreamRequest) (int32, error) {
		return r.execStream(ctx, req, streams)
	})
}

// execStream runs a command in a running container, connected with the streams of the caller, and returns its
// exit code. It returns exit code 0 without doing anything if the program is unknown, and an error if the
// container does not run.
func (r *Runtime) execStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if len(req.Command) == 0 {
		return 0, errors.New("memory: the command is empty")
	}
	now, err := r.m.lockIfReady()
	if err != nil {
		return 0, err
	}
	c, err := r.m.runningContainerLocked(req.ContainerID, now)
	if err != nil {
		r.m.unlockAndSignal()
		return 0, err
	}
	command := r.m.findRegisteredOrBuiltinCommandLocked(c, req.Command[0])
	r.m.unlockAndSignal()
	if command == nil {
		return 0, nil
	}
	exitCode, err = r.runProcess(ctx, c, console.Config{TTY: req.TTY, Client: streams}, func(ctx context.Context, p *Process) int32 {
		p.Args = req.Command
		return command(ctx, p)
	})
	if err != nil {
		return 0, fmt.Errorf("memory: command in container %s: %w", req.ContainerID, err)
	}
	return exitCode, nil
}
