package cri

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// PodStats implements runtime.StatsReader.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) ([]runtime.ContainerStats, error) {
	labels := convert.Selector(r.cfg.Owner, uid)
	running, err := r.listContainers(ctx, &cri.ContainerFilter{
		LabelSelector: labels, State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
	})
	if err != nil || len(running) == 0 {
		return nil, err
	}
	res, err := read(ctx, r, "ListContainerStats", r.runtime.ListContainerStats,
		&cri.ListContainerStatsRequest{Filter: &cri.ContainerStatsFilter{LabelSelector: labels}})
	if err != nil {
		return nil, err
	}
	runs := make(map[string]bool, len(running))
	for _, c := range running {
		runs[c.GetId()] = true
	}
	var out []runtime.ContainerStats
	for _, s := range res.GetStats() {
		if stats, ok := convert.Stats(s); ok && runs[stats.ContainerID] {
			out = append(out, stats)
		}
	}
	return out, nil
}
