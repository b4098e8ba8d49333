package usage

import (
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// SumContainers gives a pod of which only the containers were measured their sums, as the kubelet does
// without a cgroup of the pod. What is not known of one of them is not known of the pod.
func SumContainers(stats *runtime.PodStats) {
	if len(stats.Containers) == 0 {
		return
	}
	if stats.CPU == nil {
		stats.CPU = sumCPU(stats.Containers)
	}
	if stats.Memory == nil {
		stats.Memory = sumMemory(stats.Containers)
	}
}

func sumCPU(containers []runtime.ContainerStats) *runtime.CPUStats {
	sum := runtime.CPUStats{UsageCoreNanoSeconds: new(uint64), UsageNanoCores: new(uint64)}
	for _, c := range containers {
		if c.CPU == nil {
			return nil
		}
		keepEarlier(&sum.At, c.CPU.At)
		addFigure(&sum.UsageCoreNanoSeconds, c.CPU.UsageCoreNanoSeconds)
		addFigure(&sum.UsageNanoCores, c.CPU.UsageNanoCores)
	}
	return &sum
}

func sumMemory(containers []runtime.ContainerStats) *runtime.MemoryStats {
	sum := runtime.MemoryStats{
		WorkingSetBytes: new(uint64), AvailableBytes: new(uint64), UsageBytes: new(uint64),
		RSSBytes: new(uint64), PageFaults: new(uint64), MajorPageFaults: new(uint64),
	}
	for _, c := range containers {
		if c.Memory == nil {
			return nil
		}
		keepEarlier(&sum.At, c.Memory.At)
		addFigure(&sum.WorkingSetBytes, c.Memory.WorkingSetBytes)
		addFigure(&sum.AvailableBytes, c.Memory.AvailableBytes)
		addFigure(&sum.UsageBytes, c.Memory.UsageBytes)
		addFigure(&sum.RSSBytes, c.Memory.RSSBytes)
		addFigure(&sum.PageFaults, c.Memory.PageFaults)
		addFigure(&sum.MajorPageFaults, c.Memory.MajorPageFaults)
	}
	return &sum
}

// addFigure adds a figure to a sum; a sum of something unknown is unknown.
func addFigure(sum **uint64, figure *uint64) {
	switch {
	case *sum == nil:
	case figure == nil:
		*sum = nil
	default:
		**sum += *figure
	}
}

// keepEarlier keeps the earlier time: a sum is as old as its oldest part.
func keepEarlier(at *time.Time, other time.Time) {
	if at.IsZero() || other.Before(*at) {
		*at = other
	}
}

// SumNode adds up the pods of a node, whose total is that of the samples. What is not known of a
// pod is left out. The sums are as old as the oldest figure, and of the time now without any.
func SumNode(pods []runtime.PodStats, total Total, now time.Time) runtime.PodStats {
	cpu := runtime.CPUStats{UsageCoreNanoSeconds: &total.CPUNanoSeconds, UsageNanoCores: new(uint64)}
	var unknown, rates int
	memory := runtime.MemoryStats{WorkingSetBytes: new(uint64)}
	network := runtime.NetworkStats{Interfaces: []runtime.InterfaceStats{{RxBytes: &total.RxBytes, TxBytes: &total.TxBytes}}}
	for _, p := range pods {
		if p.CPU != nil {
			keepEarlier(&cpu.At, p.CPU.At)
			if rate := p.CPU.UsageNanoCores; rate != nil {
				*cpu.UsageNanoCores += *rate
				rates++
			} else {
				unknown++
			}
		}
		if p.Memory != nil {
			keepEarlier(&memory.At, p.Memory.At)
			*memory.WorkingSetBytes += valueOrZero(p.Memory.WorkingSetBytes)
		}
		if p.Network != nil {
			keepEarlier(&network.At, p.Network.At)
		}
	}
	if unknown > 0 && rates == 0 { // No rate is known before the second sample, and zero would be one.
		cpu.UsageNanoCores = nil
	}
	for _, at := range []*time.Time{&cpu.At, &memory.At, &network.At} {
		if at.IsZero() {
			*at = now
		}
	}
	return runtime.PodStats{CPU: &cpu, Memory: &memory, Network: &network}
}

func valueOrZero(figure *uint64) uint64 {
	if figure == nil {
		return 0
	}
	return *figure
}
