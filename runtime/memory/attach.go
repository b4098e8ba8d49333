package memory

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/podkeel/podkeel/runtime"
)

// Attach implements runtime.Attacher. The container prints on stdout, and reads nothing.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	_, err := verb(ctx, r, "Attach", req, func(r *Runtime, ctx context.Context, req runtime.AttachRequest) (nothing, error) {
		return nothing{}, r.attach(ctx, req, streams)
	})
	return err
}

func (r *Runtime) attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	now, err := r.m.lockReady()
	if err != nil {
		return err
	}
	_, err = r.m.runningLocked(req.ContainerID, now)
	r.m.unlock()
	if err != nil {
		return err
	}
	out := streams.Stdout
	if out == nil {
		out = io.Discard
	}
	return r.readLog(ctx, runtime.ReadLogRequest{ContainerID: req.ContainerID, Follow: true, Tail: fromNow}, out)
}

// fromNow is a tail that leaves out every line there is.
const fromNow = math.MinInt

// PortForward implements runtime.PortForwarder. Every port of a sandbox that is ready sends
// back what it gets.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	_, err := verb(ctx, r, "PortForward", req, func(r *Runtime, ctx context.Context, req runtime.PortForwardRequest) (nothing, error) {
		return nothing{}, r.portForward(ctx, req, conn)
	})
	return err
}

func (r *Runtime) portForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	defer conn.Close()
	if _, err := r.m.lockReady(); err != nil {
		return err
	}
	s := r.m.mu.sandboxes[req.SandboxID]
	ready := s != nil && s.ready
	r.m.unlock()
	switch {
	case s == nil:
		return fmt.Errorf("memory: sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	case !ready:
		return fmt.Errorf("memory: sandbox %s is not ready: %w", req.SandboxID, runtime.ErrWrongState)
	}
	if _, err := io.Copy(conn, conn); err != nil {
		return fmt.Errorf("memory: port %d: %w", req.Port, err)
	}
	return ctx.Err()
}
