package cri

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri/internal/convert"
)

// PodStats implements runtime.StatsReader. It requests the figures of one pod only: a sandbox that
// makes the call fail does not affect other pods. If the figures of the sandbox are not available,
// the result has only the figures of the containers.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	var pod runtime.PodStats
	var running []*cri.Container
	var stats *cri.ListContainerStatsResponse
	var errs [2]error
	labels := convert.Selector(r.cfg.Owner, uid)
	executor.Each(r.executor, 0, 3, func(i int) {
		switch i {
		case 0:
			running, errs[0] = r.listContainers(ctx, &cri.ContainerFilter{
				LabelSelector: labels, State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
			})
		case 1:
			stats, errs[1] = callRead(ctx, r, "ListContainerStats", r.runtime.ListContainerStats,
				&cri.ListContainerStatsRequest{Filter: &cri.ContainerStatsFilter{LabelSelector: labels}})
		case 2:
			pod = r.fetchSandboxStatsOrEmpty(ctx, labels)
		}
	})
	for _, err := range errs {
		if err != nil {
			return runtime.PodStats{}, err
		}
	}
	pod.Containers = statsOfRunning(running, stats.GetStats())
	if len(pod.Containers) == 0 {
		return runtime.PodStats{}, nil
	}
	return pod, nil
}

// statsOfRunning returns the converted stats of the containers in running. Stats of other containers are left
// out.
func statsOfRunning(running []*cri.Container, all []*cri.ContainerStats) []runtime.ContainerStats {
	runs := make(map[string]bool, len(running))
	for _, c := range running {
		runs[c.GetId()] = true
	}
	var out []runtime.ContainerStats
	for _, s := range all {
		if stats, ok := convert.ContainerStats(s); ok && runs[stats.ContainerID] {
			out = append(out, stats)
		}
	}
	return out
}

// fetchSandboxStatsOrEmpty returns the stats of the ready sandbox that has the given labels. The stats are
// empty if there is not exactly one such sandbox, or if a call fails.
func (r *Runtime) fetchSandboxStatsOrEmpty(ctx context.Context, labels map[string]string) runtime.PodStats {
	ready, err := r.listSandboxes(ctx, &cri.PodSandboxFilter{
		LabelSelector: labels, State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY},
	})
	if err != nil || len(ready) != 1 {
		return runtime.PodStats{}
	}
	id := ready[0].GetId()
	res, err := callRead(ctx, r, "PodSandboxStats", r.runtime.PodSandboxStats, &cri.PodSandboxStatsRequest{PodSandboxId: id})
	if err != nil || res.GetStats().GetAttributes().GetId() != id {
		return runtime.PodStats{}
	}
	return convert.PodStats(res.GetStats().GetLinux())
}
