package cri

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// UpdateContainer implements runtime.Updater. A request that asks for nothing
// is not sent.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	if _, err := r.container(ctx, req.ContainerID); err != nil {
		return err
	}
	resources := convert.Resources(r.fitting(req.Resources, "id", req.ContainerID))
	if resources == nil {
		_, err := r.askContainer(ctx, req.ContainerID)
		return err
	}
	_, err := call(ctx, r, "UpdateContainerResources", r.cfg.Deadlines.Make, r.runtime.UpdateContainerResources,
		&cri.UpdateContainerResourcesRequest{ContainerId: req.ContainerID, Linux: resources})
	return err
}
