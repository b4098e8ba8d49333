package memory

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// PodStats implements runtime.StatsReader with figures that follow from the scripts and
// the time. A pod has no more than its containers; one on the host's network, or without
// a sandbox that is ready, has no network.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	return instrumentCall(ctx, r, "PodStats", uid, (*Runtime).podStats)
}

func (r *Runtime) podStats(_ context.Context, uid types.UID) (runtime.PodStats, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return runtime.PodStats{}, err
	}
	defer m.unlock()
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

func (c *container) stats(now time.Time) runtime.ContainerStats {
	u := c.run.Usage
	memory := uint64(cmp.Or(u.MemoryBytes, defaultMemoryBytes))
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

// totalUsed is what a container has used by now of something of which it uses so much each
// second that it runs.
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

// networkStats has what all containers of the sandbox that is ready have received and sent, so
// that it does not go down when one ends. Records that are removed take their part along.
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
