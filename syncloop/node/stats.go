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
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/internal/usage"
)

// PodStats is the resource usage of one pod. It is shared and must not be modified.
type PodStats struct {
	Namespace, Name string
	UID             types.UID
	// StartedAt is the start time of the pod; zero if unknown.
	StartedAt time.Time
	// PodStats has the usage of the pod and of its running containers. If the runtime does not report the
	// rate of CPU usage, the node computes it from two samples, so the first sample has none.
	runtime.PodStats
	// Err is the error of the runtime if it could not measure the pod.
	Err error
}

// StatsReader measures the resource usage of a node and its pods. Containers implements it.
type StatsReader interface {
	// NodeStats is called once for each request or scrape, concurrently. It returns when ctx ends.
	NodeStats(ctx context.Context) (NodeStats, error)
}

// NodeStats is the resource usage of all pods of a node together, and of each pod.
type NodeStats struct {
	// Name is the name of the node.
	Name string
	// StartedAt is the time at which New made the node.
	StartedAt time.Time
	// CPU and Memory are sums over the measured pods, and zero without pods. The CPU time includes
	// containers that were removed after a sample, so it never decreases. Available memory is
	// Config.Scheduling.Capacity less the usage, if Config.Eviction.Signals does not measure it.
	CPU    *runtime.CPUStats
	Memory *runtime.MemoryStats
	// Network is the sum over the pods with a network of their own. It never decreases either.
	Network *runtime.NetworkStats
	// Filesystem is the usage of the file system with volumes and logs, and Processes are the processes of the machine.
	// Both, and the available memory, are the last measurements of Config.Eviction.Signals. They are nil without it.
	Filesystem *runtime.FilesystemStats
	Processes  *ProcessLimit
	// ImageFilesystem is the usage of the file system of images. Nil if the runtime does not report it.
	ImageFilesystem *runtime.FilesystemStats
	// Pods has the pods with running containers, ordered by namespace, name and UID.
	Pods []PodStats
}

// ProcessLimit says how many processes and threads a machine has.
type ProcessLimit struct {
	// At is the time of the measurement.
	At time.Time
	// Max is how many can exist, and Running how many exist.
	Max, Running int64
}

// Stats measures the resource usage of a pod. All callers share a sample for ten seconds. The error
// wraps runtime.ErrUnsupported if the runtime does not measure pods, and runtime.ErrNotFound if the
// runtime has no pod of this UID.
func (c *Containers) Stats(ctx context.Context, uid types.UID) (PodStats, error) {
	reader := c.runtime.Features().StatsReader
	if reader == nil {
		return PodStats{}, errStatsUnsupported()
	}
	pods := c.pleg.Pods()
	i := slices.IndexFunc(pods, func(p runtime.Pod) bool { return p.UID == uid })
	if i < 0 {
		return PodStats{}, fmt.Errorf("node: the runtime has no pod with UID %q: %w", uid, runtime.ErrNotFound)
	}
	stats := c.readPodStats(ctx, reader, pods[i])
	return stats, stats.Err
}

// errStatsUnsupported returns the error for a runtime that does not measure the resource usage of pods. It
// wraps runtime.ErrUnsupported.
func errStatsUnsupported() error {
	return fmt.Errorf("node: stats of pods: %w", runtime.ErrUnsupported)
}

// NodeStats measures the resource usage of every pod, as Stats does. If the runtime cannot measure a
// pod, only that pod has an error. The error wraps runtime.ErrUnsupported if the runtime does not
// measure pods.
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
	c.setNodeSums(&stats)
	stats.ImageFilesystem = c.readImageFilesystem(ctx)
	setMachineStats(&stats, c.observations())
	return stats, nil
}

// readPodStats returns the resource usage of one pod, from a recent sample that all callers share. It adds the
// start time of the pod from its status, and the start time of each container from the PLEG if the sample does
// not have it. A failed sample is in Err.
func (c *Containers) readPodStats(ctx context.Context, reader runtime.StatsReader, pod runtime.Pod) PodStats {
	out := PodStats{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	c.status.ReadPodStatus(pod.UID, func(status *v1.PodStatus) {
		if status.StartTime != nil {
			out.StartedAt = status.StartTime.Time
		}
	})
	out.PodStats, out.Err = c.sampler.getRecentSample(ctx, c.executor, reader, pod.UID)
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

// setNodeSums sets CPU, memory and network of the node stats to the sums over its pods, where CPU and network
// include removed containers. It also sets the available memory if Config.Scheduling.Capacity declares memory.
func (c *Containers) setNodeSums(stats *NodeStats) {
	pods := make([]runtime.PodStats, len(stats.Pods))
	for i, p := range stats.Pods {
		pods[i] = p.PodStats
	}
	all := usage.SumNode(pods, c.sampler.totalUsageOfSampledContainers(), c.executor.Now())
	stats.CPU, stats.Memory, stats.Network = all.CPU, all.Memory, all.Network
	if memory, ok := c.config.Scheduling.Capacity[v1.ResourceMemory]; ok {
		stats.Memory.AvailableBytes = new(uint64(max(0, memory.Value()-int64(*stats.Memory.WorkingSetBytes))))
	}
}

// readImageFilesystem returns the usage of the file system of images. It returns nil if the runtime does not
// report it, reports no capacity, or the read fails or takes longer than statsTimeout.
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

// setMachineStats sets the stats that the signals of the node have: available memory, file systems and processes. It leaves
// out a signal without a measurement.
func setMachineStats(stats *NodeStats, observed eviction.Observations) {
	if o, ok := observed.Signals[eviction.MemoryAvailable]; ok {
		stats.Memory.AvailableBytes = new(uint64(max(0, o.Available)))
	}
	stats.Filesystem = diskStats(observed, eviction.NodeFsAvailable, eviction.NodeFsInodesFree)
	if stats.ImageFilesystem == nil {
		stats.ImageFilesystem = diskStats(observed, eviction.ImageFsAvailable, eviction.ImageFsInodesFree)
	} else if inodes := diskStats(observed, eviction.ImageFsAvailable, eviction.ImageFsInodesFree); inodes != nil {
		f := stats.ImageFilesystem
		f.InodesFree, f.Inodes, f.InodesUsed = inodes.InodesFree, inodes.Inodes, inodes.InodesUsed
	}
	if o, ok := observed.Signals[eviction.PIDAvailable]; ok {
		stats.Processes = &ProcessLimit{At: o.Time, Max: o.Capacity, Running: o.Capacity - o.Available}
	}
}

// diskStats returns the usage of a file system from its signals. It returns nil if its free space has no measurement.
// Space that the file system reserves counts as used.
func diskStats(observed eviction.Observations, space, inodes eviction.Signal) *runtime.FilesystemStats {
	o, ok := observed.Signals[space]
	if !ok {
		return nil
	}
	stats := &runtime.FilesystemStats{At: o.Time}
	stats.AvailableBytes, stats.CapacityBytes, stats.UsedBytes = availableCapacityUsed(o)
	if o, ok := observed.Signals[inodes]; ok {
		stats.InodesFree, stats.Inodes, stats.InodesUsed = availableCapacityUsed(o)
	}
	return stats
}

// availableCapacityUsed returns the available amount, the capacity and their difference. Negative amounts count as 0.
func availableCapacityUsed(o eviction.Observation) (available, capacity, used *uint64) {
	return new(uint64(max(0, o.Available))), new(uint64(max(0, o.Capacity))), new(uint64(max(0, o.Capacity-o.Available)))
}
