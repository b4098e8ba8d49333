package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/usage"
)

// PodStats is what one pod uses. The figures are only read: others may have them too.
type PodStats struct {
	Namespace, Name string
	UID             types.UID
	// StartedAt is when the node has taken the pod up; zero: not known.
	StartedAt time.Time
	// PodStats are its figures, and those of its containers that run. The rates of
	// processors are computed from two samples where the runtime does not tell them: they
	// are there from the second sample on.
	runtime.PodStats
	// Err is why there are none: the runtime could not tell.
	Err error
}

// StatsReader measures what a node and its pods use: a Containers.
type StatsReader interface {
	// NodeStats is called once for each request or scrape, concurrently. It ends with ctx.
	NodeStats(ctx context.Context) (NodeStats, error)
}

// NodeStats is what the pods of a node use together, and each of them.
type NodeStats struct {
	// Name is the node's.
	Name string
	// StartedAt is when the node was made.
	StartedAt time.Time
	// CPU and Memory are sums over the pods whose figures are known. The processor time is
	// all that the containers of every sample have used since they started, those that are
	// gone included, and never goes down. Without a pod they are zero. What is available is
	// the rest of Config.Scheduling.Capacity.
	CPU    *runtime.CPUStats
	Memory *runtime.MemoryStats
	// Network has the sums of the pods with a network of their own, counted likewise.
	Network *runtime.NetworkStats
	// ImageFilesystem is the file system of images; nil if the runtime does not tell.
	ImageFilesystem *runtime.FilesystemStats
	// Pods are those with containers that run, by namespace, name and UID.
	Pods []PodStats
}

// Stats asks the runtime what a pod uses. A sample is used for ten seconds, by any number
// of callers. The error is runtime.ErrUnsupported if the runtime does not measure pods,
// and runtime.ErrNotFound if it shows none of this UID.
func (c *Containers) Stats(ctx context.Context, uid types.UID) (PodStats, error) {
	reader := c.runtime.Features().StatsReader
	if reader == nil {
		return PodStats{}, errStatsUnsupported()
	}
	pods := c.pleg.Pods()
	i := slices.IndexFunc(pods, func(p runtime.Pod) bool { return p.UID == uid })
	if i < 0 {
		return PodStats{}, fmt.Errorf("node: there is no pod of UID %q: %w", uid, runtime.ErrNotFound)
	}
	stats := c.readPodStats(ctx, reader, pods[i])
	return stats, stats.Err
}

func errStatsUnsupported() error {
	return fmt.Errorf("node: figures of pods: %w", runtime.ErrUnsupported)
}

// NodeStats asks the runtime what each pod uses, as Stats does. A pod of which it cannot
// tell has an error, and the others have their figures. The error is
// runtime.ErrUnsupported if the runtime does not measure pods.
func (c *Containers) NodeStats(ctx context.Context) (NodeStats, error) {
	reader := c.runtime.Features().StatsReader
	if reader == nil {
		return NodeStats{}, errStatsUnsupported()
	}
	running := slices.DeleteFunc(slices.Clone(c.pleg.Pods()), func(p runtime.Pod) bool {
		return !slices.ContainsFunc(p.Containers, func(c runtime.Container) bool { return c.State == runtime.StateRunning })
	})
	stats := NodeStats{Name: c.config.Name, StartedAt: c.sampler.startedAt, Pods: make([]PodStats, len(running))}
	executor.Each(c.executor, maxSamples, len(running), func(i int) { stats.Pods[i] = c.readPodStats(ctx, reader, running[i]) })
	if err := ctx.Err(); err != nil {
		return NodeStats{}, err
	}
	slices.SortStableFunc(stats.Pods, func(a, b PodStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	c.sumPods(&stats)
	stats.ImageFilesystem = c.readImageFilesystem(ctx)
	return stats, nil
}

// readPodStats is one pod's, with what the runtime's figures leave out.
func (c *Containers) readPodStats(ctx context.Context, reader runtime.StatsReader, pod runtime.Pod) PodStats {
	out := PodStats{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	c.status.ReadPodStatus(pod.UID, func(status *v1.PodStatus) {
		if status.StartTime != nil {
			out.StartedAt = status.StartTime.Time
		}
	})
	out.PodStats, out.Err = c.sampler.getSample(ctx, c.executor, reader, pod.UID)
	seen, err := c.pleg.Get(pod.UID)
	if err != nil {
		return out
	}
	out.Containers = slices.Clone(out.Containers)
	for i := range out.Containers {
		c := &out.Containers[i]
		if at := slices.IndexFunc(seen.Containers, func(s runtime.ContainerStatus) bool { return s.ID == c.ContainerID }); at >= 0 && c.StartedAt.IsZero() {
			c.StartedAt = seen.Containers[at].StartedAt
		}
	}
	return out
}

// sumPods adds up the pods.
func (c *Containers) sumPods(stats *NodeStats) {
	pods := make([]runtime.PodStats, len(stats.Pods))
	for i, p := range stats.Pods {
		pods[i] = p.PodStats
	}
	all := usage.SumNode(pods, c.sampler.totalUsage(), c.executor.Now())
	stats.CPU, stats.Memory, stats.Network = all.CPU, all.Memory, all.Network
	if memory, ok := c.config.Scheduling.Capacity[v1.ResourceMemory]; ok {
		stats.Memory.AvailableBytes = new(uint64(max(0, memory.Value()-int64(*stats.Memory.WorkingSetBytes))))
	}
}

// readImageFilesystem is nil if it is not known.
func (c *Containers) readImageFilesystem(ctx context.Context) *runtime.FilesystemStats {
	disk := c.runtime.Features().ImageFilesystem
	if disk == nil {
		return nil
	}
	ctx, cancel := c.executor.WithDeadline(ctx, c.executor.Now().Add(statsTimeout))
	defer cancel()
	u, err := disk.ImageFilesystem(ctx)
	if err != nil || u.CapacityBytes == 0 {
		return nil
	}
	return &runtime.FilesystemStats{
		At: c.executor.Now(), CapacityBytes: &u.CapacityBytes, UsedBytes: &u.UsedBytes,
		AvailableBytes: new(u.CapacityBytes - min(u.UsedBytes, u.CapacityBytes)),
	}
}
