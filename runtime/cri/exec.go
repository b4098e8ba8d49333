package cri

import (
	"context"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// outputLimit is how much output Exec keeps if the request does not say.
const outputLimit = 16 << 10

// longestOutput is what a runtime may send: 16 MiB of each stream.
const longestOutput = 33 << 20

// Exec implements runtime.Execer. CRI keeps the streams apart: what went to
// stdout comes first. The runtime is told in whole seconds when the context
// ends, rounded up, so that it kills the command then.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	const verb = "ExecSync"
	if err := runnable(verb, req.Command); err != nil {
		return runtime.ExecResult{}, err
	}
	if _, err := r.container(ctx, req.ContainerID); err != nil {
		return runtime.ExecResult{}, err
	}
	asked := &cri.ExecSyncRequest{ContainerId: req.ContainerID, Cmd: req.Command, Timeout: r.secondsLeft(ctx)}
	if err := r.greet(ctx); err != nil {
		return runtime.ExecResult{}, err
	}
	// Only the caller knows how long it may take.
	res, err := r.runtime.ExecSync(ctx, asked, grpc.MaxCallRecvMsgSize(max(r.cfg.MaxMessageBytes, longestOutput)))
	if err != nil {
		return runtime.ExecResult{}, r.whyNotRun(ctx, req.ContainerID, r.failed(ctx, verb, err))
	}
	return runtime.ExecResult{ExitCode: res.GetExitCode(), Output: output(res, req.OutputLimit)}, nil
}

// secondsLeft is zero for a context without an end.
func (r *Runtime) secondsLeft(ctx context.Context) int64 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, int64(math.Ceil(end.Sub(r.turn.Now()).Seconds())))
}

// output is both streams, cut to a limit.
func output(res *cri.ExecSyncResponse, limit int) []byte {
	if limit <= 0 {
		limit = outputLimit
	}
	out := res.GetStdout()[:min(limit, len(res.GetStdout()))]
	rest := res.GetStderr()[:min(limit-len(out), len(res.GetStderr()))]
	return append(out[:len(out):len(out)], rest...)
}

// whyNotRun tells a container that does not run from other failures. The end of
// the time that the runtime was given is that of the context.
func (r *Runtime) whyNotRun(ctx context.Context, id string, err error) error {
	if _, bounded := ctx.Deadline(); bounded && code(err) == codes.DeadlineExceeded {
		return fmt.Errorf("cri: %w: %w", context.DeadlineExceeded, err)
	}
	if undecided(ctx, err) {
		return err
	}
	c, look := r.askContainer(ctx, id)
	switch {
	case errors.Is(look, runtime.ErrNotFound):
		return look
	case look == nil && c.GetState() != cri.ContainerState_CONTAINER_RUNNING:
		return fmt.Errorf("cri: %w: container %s is not running: %w", runtime.ErrWrongState, id, err)
	}
	return err
}
