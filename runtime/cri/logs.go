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

// ReadLog implements runtime.LogReader. It reads the log file of the runtime, which must be on this
// machine. A container that was created without log path is ErrUnsupported. A missing log file is
// ErrNotFound.
func (r *Runtime) ReadLog(ctx context.Context, req runtime.ReadLogRequest, w io.Writer) error {
	if _, err := r.findContainerOfOwner(ctx, req.ContainerID); err != nil {
		return err
	}
	c, err := r.fetchContainerStatus(ctx, req.ContainerID)
	if err != nil {
		return err
	}
	if c.GetLogPath() == "" {
		return fmt.Errorf("cri: container %s was created without a log: %w", req.ContainerID, runtime.ErrUnsupported)
	}
	over, timestamps := isExited(c), ""
	if req.Timestamps {
		timestamps = runtime.LogTimestamp
	}
	err = logfile.Read(ctx, logfile.Request{
		Path: c.GetLogPath(), Tail: req.Tail, Since: req.Since, Follow: req.Follow, Timestamps: timestamps, Executor: r.executor,
		HasExited: func(ctx context.Context) bool {
			over = over || r.hasExitedOrGone(ctx, req.ContainerID)
			return over
		},
	}, w)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("cri: log of container %s: %w", req.ContainerID, ctx.Err())
	case errors.Is(err, fs.ErrNotExist) && c.GetStartedAt() == 0:
		return nil // The container has not started, so there is no log yet.
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cri: log of container %s: %w: %w", req.ContainerID, runtime.ErrNotFound, err)
	}
	return fmt.Errorf("cri: log of container %s: %w", req.ContainerID, err)
}

// hasExitedOrGone reports whether a container has exited or was removed. It returns false if the status call fails.
func (r *Runtime) hasExitedOrGone(ctx context.Context, id string) bool {
	c, err := r.fetchContainerStatus(ctx, id)
	return errors.Is(err, runtime.ErrNotFound) || err == nil && isExited(c)
}

// isExited reports whether a container status has the state exited.
func isExited(c *cri.ContainerStatus) bool {
	return c.GetState() == cri.ContainerState_CONTAINER_EXITED
}

// ReopenContainerLog implements runtime.LogReopener. For a container that was created without log
// path it succeeds and has no effect.
func (r *Runtime) ReopenContainerLog(ctx context.Context, containerID string) error {
	if _, err := r.findContainerOfOwner(ctx, containerID); err != nil {
		return err
	}
	_, err := callMethod(ctx, r, "ReopenContainerLog", r.cfg.Deadlines.Make, r.runtime.ReopenContainerLog,
		&cri.ReopenContainerLogRequest{ContainerId: containerID})
	if err != nil {
		return r.explainExecFailure(ctx, containerID, err)
	}
	return nil
}

// makeLogDir creates a log directory and its missing parents. It does nothing if dir is empty. CRI leaves this
// to its clients: containerd creates a missing directory, other runtimes fail.
func makeLogDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cri: logs: %w", err)
	}
	return nil
}
