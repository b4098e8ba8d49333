package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/streaming"
)

// outputLimit is how much output Exec keeps if the request does not say.
const outputLimit = 16 << 10

// longestOutput is what a runtime may send: 16 MiB of each stream.
const longestOutput = 33 << 20

// Exec implements runtime.Execer. CRI keeps the streams apart: what went to stdout comes
// first. The runtime gets the deadline of the context in whole seconds, rounded up, so
// that it kills the command then.
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
	return max(1, int64(math.Ceil(end.Sub(r.executor.Now()).Seconds())))
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

// ExecStream implements runtime.ExecStreamer, over the streaming server of the
// runtime. The end of the context ends the connection; containerd kills the command
// then, but not 1.6.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if err := runnable("Exec", req.Command); err != nil {
		return 0, err
	}
	if err := r.running(ctx, req.ContainerID); err != nil {
		return 0, err
	}
	res, err := read(ctx, r, "Exec", r.runtime.Exec, &cri.ExecRequest{
		ContainerId: req.ContainerID, Cmd: req.Command, Tty: req.TTY, Stdin: streams.Stdin != nil, Stdout: true, Stderr: !req.TTY,
	})
	if err != nil {
		return 0, r.whyNotRun(ctx, req.ContainerID, err)
	}
	code, err := streaming.Process(ctx, r.cfg.DialContext, res.GetUrl(), req.TTY, streams)
	if err != nil {
		return 0, r.whyNotRun(ctx, req.ContainerID, fmt.Errorf("cri: Exec: %w", err))
	}
	return code, nil
}

// Attach implements runtime.Attacher, over the streaming server of the runtime.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	began := r.executor.Now()
	if err := r.running(ctx, req.ContainerID); err != nil {
		return err
	}
	printed := new(byteCounter)
	streams.Stdout, streams.Stderr = printed.count(streams.Stdout), printed.count(streams.Stderr)
	res, err := read(ctx, r, "Attach", r.runtime.Attach, &cri.AttachRequest{
		ContainerId: req.ContainerID, Tty: req.TTY, Stdin: streams.Stdin != nil, Stdout: true, Stderr: !req.TTY,
	})
	if err != nil {
		return r.whyNotRun(ctx, req.ContainerID, err)
	}
	if _, err := streaming.Process(ctx, r.cfg.DialContext, res.GetUrl(), req.TTY, streams); err != nil {
		return r.whyNotRun(ctx, req.ContainerID, fmt.Errorf("cri: Attach: %w", err))
	}
	if printed.bytes.Load() > 0 {
		return nil
	}
	return r.checkAttachedInTime(ctx, req.ContainerID, began)
}

// attachWindow is how long after the beginning of an Attach a container may exit so that its end
// counts as one before the connection. It is also how long Attach waits for that end to be shown.
const attachWindow = time.Second

// firstAttachPause is the pause after the first status call of checkAttachedInTime. Each further
// pause is twice as long, so that a container that goes on costs eight calls.
const firstAttachPause = 10 * time.Millisecond

// checkAttachedInTime fails if a container exited at the time at which a client attached to it. A
// runtime that connects with the output of a container that has just exited returns nothing, and
// no error: kubectl would print nothing and believe that this was all. After an error kubectl
// prints the log.
func (r *Runtime) checkAttachedInTime(ctx context.Context, id string, began time.Time) error {
	end := r.executor.Now().Add(attachWindow)
	for pause := firstAttachPause; ; pause *= 2 {
		c, err := r.askContainer(ctx, id)
		switch {
		case err != nil:
			return err
		case c.GetState() != cri.ContainerState_CONTAINER_EXITED:
		case time.Unix(0, c.GetFinishedAt()).Sub(began) > attachWindow:
			return nil // It printed nothing while the client was attached.
		default:
			return fmt.Errorf("cri: Attach: %w: container %s exited before the client was attached", runtime.ErrWrongState, id)
		}
		left := end.Sub(r.executor.Now())
		if left <= 0 {
			return nil
		}
		if err := r.executor.Sleep(ctx, min(pause, left)); err != nil {
			return fmt.Errorf("cri: Attach: %w", err)
		}
	}
}

// byteCounter counts the bytes that are written.
type byteCounter struct{ bytes atomic.Int64 }

// count returns a writer that counts the bytes and passes them to another writer; with nil it drops
// them.
func (c *byteCounter) count(to io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		c.bytes.Add(int64(len(p)))
		return cmp.Or[io.Writer](to, io.Discard).Write(p)
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// PortForward implements runtime.PortForwarder, over the streaming server of the
// runtime.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	url, err := r.forward(ctx, req)
	if err != nil {
		_ = conn.Close() // Nothing was written to it.
		return err
	}
	if err := streaming.Forward(ctx, r.cfg.DialContext, url, req.Port, conn); err != nil {
		return fmt.Errorf("cri: PortForward: %w", err)
	}
	return nil
}

// forward asks where a port of a sandbox of ours is to be reached.
func (r *Runtime) forward(ctx context.Context, req runtime.PortForwardRequest) (string, error) {
	if _, err := r.sandbox(ctx, req.SandboxID); err != nil {
		return "", err
	}
	s, err := r.askSandbox(ctx, req.SandboxID)
	if err != nil {
		return "", err
	}
	if s.GetState() != cri.PodSandboxState_SANDBOX_READY {
		return "", fmt.Errorf("cri: PortForward: %w: sandbox %s is not ready", runtime.ErrWrongState, req.SandboxID)
	}
	res, err := read(ctx, r, "PortForward", r.runtime.PortForward, &cri.PortForwardRequest{PodSandboxId: req.SandboxID, Port: []int32{int32(req.Port)}})
	return res.GetUrl(), err
}

// running fails unless a container is ours and runs.
func (r *Runtime) running(ctx context.Context, id string) error {
	if _, err := r.container(ctx, id); err != nil {
		return err
	}
	c, err := r.askContainer(ctx, id)
	if err == nil && c.GetState() != cri.ContainerState_CONTAINER_RUNNING {
		err = fmt.Errorf("cri: %w: container %s is not running", runtime.ErrWrongState, id)
	}
	return err
}
