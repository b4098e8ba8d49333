package cri

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
