package cri

import (
	"context"
	"fmt"
	"io"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/streaming"
)

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
	if err := r.running(ctx, req.ContainerID); err != nil {
		return err
	}
	res, err := read(ctx, r, "Attach", r.runtime.Attach, &cri.AttachRequest{
		ContainerId: req.ContainerID, Tty: req.TTY, Stdin: streams.Stdin != nil, Stdout: true, Stderr: !req.TTY,
	})
	if err != nil {
		return err
	}
	if _, err := streaming.Process(ctx, r.cfg.DialContext, res.GetUrl(), req.TTY, streams); err != nil {
		return fmt.Errorf("cri: Attach: %w", err)
	}
	return nil
}

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
