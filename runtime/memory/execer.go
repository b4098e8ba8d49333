package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// outputLimit is how much output Exec keeps if the request does not say.
const outputLimit = 16 << 10

// Exec implements runtime.Execer. It does what the command says as far as that
// is plain, as a container with that command does; what is not plain ends at
// once with 0. A command ends with 137 when its container does.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	return verb(ctx, r, "Exec", req, (*Runtime).exec)
}

func (r *Runtime) exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	x, err := r.execution(req.ContainerID, req.Command)
	if err != nil {
		return runtime.ExecResult{}, err
	}
	running, err := r.awaitUntil(ctx, x.in, runtime.StateRunning, x.ends())
	if err != nil {
		return runtime.ExecResult{}, err
	}
	if !running {
		x.Exit, x.For = codeKilled, r.m.clock.Now().Sub(x.began)
	}
	return runtime.ExecResult{ExitCode: x.Exit, Output: x.output(req.OutputLimit)}, nil
}

// ExecStream implements runtime.ExecStreamer. It is Exec whose lines come when
// they are printed, all of them on stdout; nothing is read, and there are no
// terminals.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	return verb(ctx, r, "ExecStream", req, func(r *Runtime, ctx context.Context, req runtime.ExecStreamRequest) (int32, error) {
		return r.execStream(ctx, req, streams)
	})
}

func (r *Runtime) execStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if req.TTY {
		return 0, fmt.Errorf("memory: a terminal: %w", runtime.ErrUnsupported)
	}
	x, err := r.execution(req.ContainerID, req.Command)
	if err != nil {
		return 0, err
	}
	for _, line := range x.Print {
		running, err := r.awaitUntil(ctx, x.in, runtime.StateRunning, x.began.Add(line.After))
		if err != nil || !running {
			return codeKilled, err
		}
		if streams.Stdout == nil {
			continue
		}
		if _, err := io.WriteString(streams.Stdout, line.Text+"\n"); err != nil {
			return 0, fmt.Errorf("memory: output of a command in container %s: %w", req.ContainerID, err)
		}
	}
	running, err := r.awaitUntil(ctx, x.in, runtime.StateRunning, x.ends())
	if err != nil || !running {
		return codeKilled, err
	}
	return x.Exit, nil
}

// execution is a command in a container that runs.
type execution struct {
	Run
	in    *container
	began time.Time
}

func (r *Runtime) execution(id string, command []string) (x execution, err error) {
	if len(command) == 0 {
		return x, errors.New("memory: there is no command to run")
	}
	run, whole := plainRun(command)
	if !whole {
		run.Exit = 0
	}
	began, err := r.m.lockReady()
	if err != nil {
		return x, err
	}
	defer r.m.unlock()
	c, err := r.m.runningLocked(id, began)
	return execution{run, c, began}, err
}

// ends is when the command does; zero is never.
func (x execution) ends() time.Time {
	if x.Forever {
		return time.Time{}
	}
	return x.began.Add(x.For)
}

// output is what the run has printed when it ends, cut to a limit.
func (r Run) output(limit int) []byte {
	if limit <= 0 {
		limit = outputLimit
	}
	var out []byte
	for _, line := range r.Print {
		if line.After > r.For || len(out) >= limit {
			break
		}
		out = append(append(out, line.Text...), '\n')
	}
	return out[:min(len(out), limit)]
}
