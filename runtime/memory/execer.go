package memory

import (
	"context"
	"errors"
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
	if len(req.Command) == 0 {
		return runtime.ExecResult{}, errors.New("memory: there is no command to run")
	}
	run, whole := plainRun(req.Command)
	if !whole {
		run.Exit = 0
	}
	began, err := r.m.lockReady()
	if err != nil {
		return runtime.ExecResult{}, err
	}
	c, err := r.m.runningLocked(req.ContainerID, began)
	r.m.unlock()
	if err != nil {
		return runtime.ExecResult{}, err
	}
	until := time.Time{}
	if !run.Forever {
		until = began.Add(run.For)
	}
	running, err := r.awaitUntil(ctx, c, runtime.StateRunning, until)
	if err != nil {
		return runtime.ExecResult{}, err
	}
	if !running {
		run.Exit, run.For = codeKilled, r.m.clock.Now().Sub(began)
	}
	return runtime.ExecResult{ExitCode: run.Exit, Output: run.output(req.OutputLimit)}, nil
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
