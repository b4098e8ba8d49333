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
		oldest(&sum.At, c.CPU.At)
		add(&sum.UsageCoreNanoSeconds, c.CPU.UsageCoreNanoSeconds)
		add(&sum.UsageNanoCores, c.CPU.UsageNanoCores)
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
		oldest(&sum.At, c.Memory.At)
		add(&sum.WorkingSetBytes, c.Memory.WorkingSetBytes)
		add(&sum.AvailableBytes, c.Memory.AvailableBytes)
		add(&sum.UsageBytes, c.Memory.UsageBytes)
		add(&sum.RSSBytes, c.Memory.RSSBytes)
		add(&sum.PageFaults, c.Memory.PageFaults)
		add(&sum.MajorPageFaults, c.Memory.MajorPageFaults)
	}
	return &sum
}

// add adds a figure to a sum; a sum of something unknown is unknown.
func add(sum **uint64, figure *uint64) {
	switch {
	case *sum == nil:
	case figure == nil:
		*sum = nil
	default:
		**sum += *figure
	}
}

// oldest keeps the earlier time: a sum is as old as its oldest part.
func oldest(at *time.Time, other time.Time) {
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
			oldest(&cpu.At, p.CPU.At)
			if rate := p.CPU.UsageNanoCores; rate != nil {
				*cpu.UsageNanoCores += *rate
				rates++
			} else {
				unknown++
			}
		}
		if p.Memory != nil {
			oldest(&memory.At, p.Memory.At)
			*memory.WorkingSetBytes += known(p.Memory.WorkingSetBytes)
		}
		if p.Network != nil {
			oldest(&network.At, p.Network.At)
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

func known(figure *uint64) uint64 {
	if figure == nil {
		return 0
	}
	return *figure
}
