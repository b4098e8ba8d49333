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

// defaultOutputLimit limits the output of Exec if the request sets no limit.
const defaultOutputLimit = 16 << 10

// maxOutputMessageBytes limits the response of ExecSync: a runtime may send 16 MiB of each stream.
const maxOutputMessageBytes = 33 << 20

// Exec implements runtime.Execer. CRI returns both streams separately, so stdout comes first. The
// runtime gets the remaining time of the context in whole seconds, rounded up, and kills the
// command then.
func (r *Runtime) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	const verb = "ExecSync"
	if err := checkCommand(verb, req.Command); err != nil {
		return runtime.ExecResult{}, err
	}
	if _, err := r.findContainerOfOwner(ctx, req.ContainerID); err != nil {
		return runtime.ExecResult{}, err
	}
	asked := &cri.ExecSyncRequest{ContainerId: req.ContainerID, Cmd: req.Command, Timeout: r.secondsUntilDeadline(ctx)}
	if err := r.ensureHandshake(ctx); err != nil {
		return runtime.ExecResult{}, err
	}
	// Only the context limits the duration of a command.
	res, err := r.runtime.ExecSync(ctx, asked, grpc.MaxCallRecvMsgSize(max(r.cfg.MaxMessageBytes, maxOutputMessageBytes)))
	if err != nil {
		return runtime.ExecResult{}, r.explainExecFailure(ctx, req.ContainerID, r.translateError(ctx, verb, err))
	}
	return runtime.ExecResult{ExitCode: res.GetExitCode(), Output: combineOutput(res, req.OutputLimit)}, nil
}

// secondsUntilDeadline returns the remaining seconds of a context, rounded up and at least 1. It returns zero
// if the context has no deadline.
func (r *Runtime) secondsUntilDeadline(ctx context.Context) int64 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, int64(math.Ceil(end.Sub(r.executor.Now()).Seconds())))
}

// combineOutput returns stdout followed by stderr, truncated to limit bytes, or to defaultOutputLimit if limit
// is not above zero.
func combineOutput(res *cri.ExecSyncResponse, limit int) []byte {
	if limit <= 0 {
		limit = defaultOutputLimit
	}
	out := res.GetStdout()[:min(limit, len(res.GetStdout()))]
	rest := res.GetStderr()[:min(limit-len(out), len(res.GetStderr()))]
	return append(out[:len(out):len(out)], rest...)
}

// explainExecFailure replaces the error of a failed exec by ErrNotFound or ErrWrongState if the container is
// absent or does not run. A timeout that the runtime reports becomes context.DeadlineExceeded if ctx has a
// deadline. Any other err is returned unchanged.
func (r *Runtime) explainExecFailure(ctx context.Context, id string, err error) error {
	if _, bounded := ctx.Deadline(); bounded && grpcCode(err) == codes.DeadlineExceeded {
		return fmt.Errorf("cri: %w: %w", context.DeadlineExceeded, err)
	}
	if isContextOrReadinessOrUnsupportedError(ctx, err) {
		return err
	}
	c, look := r.fetchContainerStatus(ctx, id)
	switch {
	case errors.Is(look, runtime.ErrNotFound):
		return look
	case look == nil && c.GetState() != cri.ContainerState_CONTAINER_RUNNING:
		return fmt.Errorf("cri: %w: container %s is not running: %w", runtime.ErrWrongState, id, err)
	}
	return err
}

// ExecStream implements runtime.ExecStreamer with the streaming server of the runtime. When the
// context ends, the connection is closed. containerd then kills the command, except containerd 1.6.
func (r *Runtime) ExecStream(ctx context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (exitCode int32, err error) {
	if err := checkCommand("Exec", req.Command); err != nil {
		return 0, err
	}
	if err := r.checkOwnedAndRunning(ctx, req.ContainerID); err != nil {
		return 0, err
	}
	res, err := callRead(ctx, r, "Exec", r.runtime.Exec, &cri.ExecRequest{
		ContainerId: req.ContainerID, Cmd: req.Command, Tty: req.TTY, Stdin: streams.Stdin != nil, Stdout: true, Stderr: !req.TTY,
	})
	if err != nil {
		return 0, r.explainExecFailure(ctx, req.ContainerID, err)
	}
	code, err := streaming.Process(ctx, r.cfg.DialContext, res.GetUrl(), req.TTY, streams)
	if err != nil {
		return 0, r.explainExecFailure(ctx, req.ContainerID, fmt.Errorf("cri: Exec: %w", err))
	}
	return code, nil
}

// Attach implements runtime.Attacher with the streaming server of the runtime.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	began := r.executor.Now()
	if err := r.checkOwnedAndRunning(ctx, req.ContainerID); err != nil {
		return err
	}
	printed := new(byteCounter)
	streams.Stdout, streams.Stderr = printed.countingWriter(streams.Stdout), printed.countingWriter(streams.Stderr)
	res, err := callRead(ctx, r, "Attach", r.runtime.Attach, &cri.AttachRequest{
		ContainerId: req.ContainerID, Tty: req.TTY, Stdin: streams.Stdin != nil, Stdout: true, Stderr: !req.TTY,
	})
	if err != nil {
		return r.explainExecFailure(ctx, req.ContainerID, err)
	}
	if _, err := streaming.Process(ctx, r.cfg.DialContext, res.GetUrl(), req.TTY, streams); err != nil {
		return r.explainExecFailure(ctx, req.ContainerID, fmt.Errorf("cri: Attach: %w", err))
	}
	if printed.bytes.Load() > 0 {
		return nil
	}
	return r.pollAndCheckAttachedInTime(ctx, req.ContainerID, began)
}

// attachWindow is how long after the start of an Attach an exit of the container counts as an exit
// before the client was connected. Attach also waits that long for the exit to become visible.
const attachWindow = time.Second

// firstAttachPause is the pause after the first status call of pollAndCheckAttachedInTime. Each further
// pause is twice as long, so that a running container costs eight calls.
const firstAttachPause = 10 * time.Millisecond

// pollAndCheckAttachedInTime reads the container's status repeatedly for the time attachWindow. It returns an
// error if the container exits within attachWindow after began, because the client was then probably not
// attached yet. After an error kubectl prints the log instead of nothing.
func (r *Runtime) pollAndCheckAttachedInTime(ctx context.Context, id string, began time.Time) error {
	end := r.executor.Now().Add(attachWindow)
	for pause := firstAttachPause; ; pause *= 2 {
		c, err := r.fetchContainerStatus(ctx, id)
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

// byteCounter counts written bytes.
type byteCounter struct{ bytes atomic.Int64 }

// countingWriter returns a writer that adds the number of written bytes to the counter and passes the bytes to
// the given writer. If that writer is nil, the bytes are discarded.
func (c *byteCounter) countingWriter(writer io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		c.bytes.Add(int64(len(p)))
		return cmp.Or[io.Writer](writer, io.Discard).Write(p)
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// PortForward implements runtime.PortForwarder with the streaming server of the runtime.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	url, err := r.portForwardURL(ctx, req)
	if err != nil {
		_ = conn.Close() // Nothing was written to it.
		return err
	}
	if err := streaming.Forward(ctx, r.cfg.DialContext, url, req.Port, conn); err != nil {
		return fmt.Errorf("cri: PortForward: %w", err)
	}
	return nil
}

// portForwardURL asks the runtime for the URL at which its streaming server forwards a port of a sandbox. It
// returns an error if the sandbox belongs to another owner or is not ready.
func (r *Runtime) portForwardURL(ctx context.Context, req runtime.PortForwardRequest) (string, error) {
	if _, err := r.findSandboxOfOwner(ctx, req.SandboxID); err != nil {
		return "", err
	}
	s, err := r.fetchSandboxStatus(ctx, req.SandboxID)
	if err != nil {
		return "", err
	}
	if s.GetState() != cri.PodSandboxState_SANDBOX_READY {
		return "", fmt.Errorf("cri: PortForward: %w: sandbox %s is not ready", runtime.ErrWrongState, req.SandboxID)
	}
	res, err := callRead(ctx, r, "PortForward", r.runtime.PortForward, &cri.PortForwardRequest{PodSandboxId: req.SandboxID, Port: []int32{int32(req.Port)}})
	return res.GetUrl(), err
}

// checkOwnedAndRunning returns an error if a container is unknown, belongs to another owner or does not run.
func (r *Runtime) checkOwnedAndRunning(ctx context.Context, id string) error {
	if _, err := r.findContainerOfOwner(ctx, id); err != nil {
		return err
	}
	c, err := r.fetchContainerStatus(ctx, id)
	if err == nil && c.GetState() != cri.ContainerState_CONTAINER_RUNNING {
		err = fmt.Errorf("cri: %w: container %s is not running", runtime.ErrWrongState, id)
	}
	return err
}
