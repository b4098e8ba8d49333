package memory

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// PodStats implements runtime.StatsReader. The figures follow from the scripts and the time. A pod
// uses no more than its containers. A pod on the host network, or without a ready sandbox, has no
// network figures.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return instrumentCall(ctx, r, "PodStats", uid, (*Runtime).podStats)
}

// podStats returns the resource usage of the running containers of a pod, its process count and its network
// counters. They are empty if no container runs.
func (r *Runtime) podStats(_ context.Context, uid types.UID) (runtime.PodStats, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return runtime.PodStats{}, err
	}
	defer m.unlockAndSignal()
	var stats runtime.PodStats
	p := m.mu.pods[uid]
	if p == nil {
		return stats, nil
	}
	for _, c := range p.containers {
		if c.state(now) == runtime.StateRunning {
			stats.Containers = append(stats.Containers, c.stats(now))
		}
	}
	if len(stats.Containers) > 0 {
		stats.Network = p.networkStats(now)
		stats.Processes = new(uint64(len(stats.Containers)))
	}
	return stats, nil
}

// stats returns the CPU, memory and disk usage of a running container, from its script or from defaults. The
// reported memory is never above the memory limit.
func (c *container) stats(now time.Time) runtime.ContainerStats {
	u := c.run.Usage
	memory := uint64(c.workingSet(now))
	mem := &runtime.MemoryStats{At: now}
	if limit := c.resources.MemoryBytes; limit > 0 {
		memory = min(memory, uint64(limit))
		mem.AvailableBytes = new(uint64(limit) - memory)
	}
	mem.WorkingSetBytes, mem.UsageBytes = new(memory), new(memory)
	return runtime.ContainerStats{
		ContainerID: c.id, Name: c.name, StartedAt: c.startAt,
		CPU:        &runtime.CPUStats{At: now, UsageCoreNanoSeconds: new(c.totalUsed(cmp.Or(u.NanoCores, defaultNanoCores), now))},
		Memory:     mem,
		Filesystem: &runtime.FilesystemStats{At: now, UsedBytes: new(uint64(u.DiskBytes))},
	}
}

// workingSet returns the memory that a running container uses according to its script.
func (c *container) workingSet(now time.Time) int64 {
	bytes := cmp.Or(c.run.Usage.MemoryBytes, defaultMemoryBytes)
	for _, change := range c.run.Memory {
		if c.startAt.Add(change.After).After(now) {
			break
		}
		bytes = change.Bytes
	}
	return bytes
}

// totalUsed returns perSecond multiplied by the number of seconds that the container has run by now, or until
// its exit. It returns 0 for a container that has not started.
func (c *container) totalUsed(perSecond int64, now time.Time) uint64 {
	if c.startAt.IsZero() || c.startAt.After(now) {
		return 0
	}
	until := now
	if end := c.exitTime(); !end.IsZero() && end.Before(now) {
		until = end
	}
	return uint64(until.Sub(c.startAt).Seconds() * float64(perSecond))
}

// networkStats returns the total bytes that all containers of the ready sandbox have received and sent. Exited
// containers are included, so that the counters do not decrease at an exit. It returns nil if the pod uses the
// host network or has no such container.
func (p *pod) networkStats(now time.Time) *runtime.NetworkStats {
	var rx, tx uint64
	var own bool
	for _, c := range p.containers {
		if s := c.sandbox; s.ready && !s.hostNetwork {
			own = true
			rx += c.totalUsed(c.run.Usage.ReceiveBytes, now)
			tx += c.totalUsed(c.run.Usage.TransmitBytes, now)
		}
	}
	if !own {
		return nil
	}
	return &runtime.NetworkStats{At: now, Interfaces: []runtime.InterfaceStats{
		{Name: "eth0", RxBytes: &rx, RxErrors: new(uint64), TxBytes: &tx, TxErrors: new(uint64)},
	}}
}
