package usage

import (
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// SumContainers sets the processor and memory stats of a pod to the sums of its containers, if the runtime
// measured only the containers. The kubelet does so without a cgroup of the pod. A figure that is unknown for
// one container is unknown for the pod.
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

// sumCPU returns the sum of the CPU stats and the earliest of their times. It returns nil if a container has no
// CPU stats. A field of the sum is nil if one container lacks that field.
func sumCPU(containers []runtime.ContainerStats) *runtime.CPUStats {
	sum := runtime.CPUStats{UsageCoreNanoSeconds: new(uint64), UsageNanoCores: new(uint64)}
	for _, c := range containers {
		if c.CPU == nil {
			return nil
		}
		setIfZeroOrLater(&sum.At, c.CPU.At)
		addFigure(&sum.UsageCoreNanoSeconds, c.CPU.UsageCoreNanoSeconds)
		addFigure(&sum.UsageNanoCores, c.CPU.UsageNanoCores)
	}
	return &sum
}

// sumMemory returns the sum of the memory stats and the earliest of their times. It returns nil if a container
// has no memory stats. A field of the sum is nil if one container lacks that field.
func sumMemory(containers []runtime.ContainerStats) *runtime.MemoryStats {
	sum := runtime.MemoryStats{
		WorkingSetBytes: new(uint64), AvailableBytes: new(uint64), UsageBytes: new(uint64),
		RSSBytes: new(uint64), PageFaults: new(uint64), MajorPageFaults: new(uint64),
	}
	for _, c := range containers {
		if c.Memory == nil {
			return nil
		}
		setIfZeroOrLater(&sum.At, c.Memory.At)
		addFigure(&sum.WorkingSetBytes, c.Memory.WorkingSetBytes)
		addFigure(&sum.AvailableBytes, c.Memory.AvailableBytes)
		addFigure(&sum.UsageBytes, c.Memory.UsageBytes)
		addFigure(&sum.RSSBytes, c.Memory.RSSBytes)
		addFigure(&sum.PageFaults, c.Memory.PageFaults)
		addFigure(&sum.MajorPageFaults, c.Memory.MajorPageFaults)
	}
	return &sum
}

// addFigure adds a figure to a sum. If one of them is nil, which means unknown, the sum is nil afterwards.
func addFigure(sum **uint64, figure *uint64) {
	switch {
	case *sum == nil:
	case figure == nil:
		*sum = nil
	default:
		**sum += *figure
	}
}

// setIfZeroOrLater sets a time to other if the time is zero or later than other. The sum of several samples
// thus gets the time of the oldest sample.
func setIfZeroOrLater(at *time.Time, other time.Time) {
	if at.IsZero() || other.Before(*at) {
		*at = other
	}
}

// SumNode returns the sums of the pods of a node. total is the total of the samples. Unknown figures of pods
// do not count. The time of a sum is the time of its oldest figure, or now if there is none.
func SumNode(pods []runtime.PodStats, total Total, now time.Time) runtime.PodStats {
	cpu := runtime.CPUStats{UsageCoreNanoSeconds: &total.CPUNanoSeconds, UsageNanoCores: new(uint64)}
	var unknown, rates int
	memory := runtime.MemoryStats{WorkingSetBytes: new(uint64)}
	network := runtime.NetworkStats{Interfaces: []runtime.InterfaceStats{{RxBytes: &total.RxBytes, TxBytes: &total.TxBytes}}}
	for _, p := range pods {
		if p.CPU != nil {
			setIfZeroOrLater(&cpu.At, p.CPU.At)
			if rate := p.CPU.UsageNanoCores; rate != nil {
				*cpu.UsageNanoCores += *rate
				rates++
			} else {
				unknown++
			}
		}
		if p.Memory != nil {
			setIfZeroOrLater(&memory.At, p.Memory.At)
			*memory.WorkingSetBytes += valueOrZero(p.Memory.WorkingSetBytes)
		}
		if p.Network != nil {
			setIfZeroOrLater(&network.At, p.Network.At)
		}
	}
	if unknown > 0 && rates == 0 { // Before the second sample no rate is known. Zero would be a known rate.
		cpu.UsageNanoCores = nil
	}
	for _, at := range []*time.Time{&cpu.At, &memory.At, &network.At} {
		if at.IsZero() {
			*at = now
		}
	}
	return runtime.PodStats{CPU: &cpu, Memory: &memory, Network: &network}
}

// valueOrZero returns the value of a figure, or 0 for nil.
func valueOrZero(figure *uint64) uint64 {
	if figure == nil {
		return 0
	}
	return *figure
}
