package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/logfile"
)

// ReadLog implements runtime.LogReader, by the file that the runtime writes, which
// has to be on this machine. A container that was made without a log path has
// none, which is ErrUnsupported; one whose file is gone is ErrNotFound.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	if _, err := r.container(ctx, req.ContainerID); err != nil {
		return err
	}
	c, err := r.askContainer(ctx, req.ContainerID)
	if err != nil {
		return err
	}
	if c.GetLogPath() == "" {
		return fmt.Errorf("cri: container %s was made without a log: %w", req.ContainerID, runtime.ErrUnsupported)
	}
	over, timestamps := ended(c), ""
	if req.Timestamps {
		timestamps = runtime.LogTimestamp
	}
	err = logfile.Read(ctx, logfile.Request{
		Path: c.GetLogPath(), Tail: req.Tail, Since: req.Since, Follow: req.Follow, Timestamps: timestamps, Executor: r.executor,
		Over: func(ctx context.Context) bool {
			over = over || r.printsNoMore(ctx, req.ContainerID)
			return over
		},
	}, w)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("cri: log of container %s: %w", req.ContainerID, ctx.Err())
	case errors.Is(err, fs.ErrNotExist) && c.GetStartedAt() == 0:
		return nil // Nothing has been printed.
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cri: log of container %s: %w: %w", req.ContainerID, runtime.ErrNotFound, err)
	}
	return fmt.Errorf("cri: log of container %s: %w", req.ContainerID, err)
}

// printsNoMore asks whether a container has ended. Whatever cannot be found out
// may come to light yet.
func (r *Runtime) printsNoMore(ctx context.Context, id string) bool {
	c, err := r.askContainer(ctx, id)
	return errors.Is(err, runtime.ErrNotFound) || err == nil && ended(c)
}

func ended(c *cri.ContainerStatus) bool { return c.GetState() == cri.ContainerState_CONTAINER_EXITED }

// ReopenContainerLog implements runtime.LogReopener. A container that was made
// without a log path has no log afterwards either, and that is no error.
func (r *Runtime) ReopenContainerLog(ctx context.Context, containerID string) error {
	if _, err := r.container(ctx, containerID); err != nil {
		return err
	}
	_, err := call(ctx, r, "ReopenContainerLog", r.cfg.Deadlines.Make, r.runtime.ReopenContainerLog,
		&cri.ReopenContainerLogRequest{ContainerId: containerID})
	if err != nil {
		return r.whyNotRun(ctx, containerID, err)
	}
	return nil
}

// makeLogDir makes a directory for logs, which CRI leaves to its clients:
// containerd makes it if nobody has, others fail. No directory, no logs.
func makeLogDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cri: logs: %w", err)
	}
	return nil
}
