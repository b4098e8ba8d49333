package stats

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Summarize converts the stats of a node to the kubelet's summary. With onlyCPUAndMemory the summary has
// nothing else.
func Summarize(n node.NodeStats, onlyCPUAndMemory bool) statsapi.Summary {
	s := statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: n.Name, StartTime: metav1.NewTime(n.StartedAt), CPU: cpuStats(n.CPU), Memory: memoryStats(n.Memory)},
		Pods: make([]statsapi.PodStats, len(n.Pods)),
	}
	for i, p := range n.Pods {
		s.Pods[i] = podStats(p, onlyCPUAndMemory)
	}
	if onlyCPUAndMemory {
		return s
	}
	s.Node.Network, s.Node.Fs = networkStats(n.Network), filesystemStats(n.Filesystem)
	if p := n.Processes; p != nil {
		s.Node.Rlimit = &statsapi.RlimitStats{Time: metav1.NewTime(p.At), MaxPID: &p.Max, NumOfRunningProcesses: &p.Running}
	}
	if n.ImageFilesystem != nil {
		s.Node.Runtime = &statsapi.RuntimeStats{ImageFs: filesystemStats(n.ImageFilesystem)}
	}
	return s
}

// podStats converts the stats of a pod and its containers to the type of the summary API. If onlyCPUAndMemory
// is true, it leaves out file systems, swap, network and processes.
func podStats(p node.PodStats, onlyCPUAndMemory bool) statsapi.PodStats {
	out := statsapi.PodStats{
		PodRef: statsapi.PodReference{Name: p.Name, Namespace: p.Namespace, UID: string(p.UID)}, StartTime: metav1.NewTime(p.StartedAt),
		Containers: make([]statsapi.ContainerStats, len(p.Containers)), CPU: cpuStats(p.CPU), Memory: memoryStats(p.Memory),
	}
	for i, c := range p.Containers {
		out.Containers[i] = statsapi.ContainerStats{Name: c.Name, StartTime: metav1.NewTime(c.StartedAt), CPU: cpuStats(c.CPU), Memory: memoryStats(c.Memory)}
		if !onlyCPUAndMemory {
			out.Containers[i].Rootfs, out.Containers[i].Swap = filesystemStats(c.Filesystem), swapStats(c.Swap)
		}
	}
	if onlyCPUAndMemory {
		return out
	}
	out.Network = networkStats(p.Network)
	if p.Processes != nil {
		out.ProcessStats = &statsapi.ProcessStats{ProcessCount: p.Processes}
	}
	return out
}

// cpuStats converts CPU stats to the type of the summary API; nil stays nil.
func cpuStats(c *runtime.CPUStats) *statsapi.CPUStats {
	if c == nil {
		return nil
	}
	return &statsapi.CPUStats{Time: metav1.NewTime(c.At), UsageNanoCores: c.UsageNanoCores, UsageCoreNanoSeconds: c.UsageCoreNanoSeconds}
}

// memoryStats converts memory stats to the type of the summary API; nil stays nil.
func memoryStats(m *runtime.MemoryStats) *statsapi.MemoryStats {
	if m == nil {
		return nil
	}
	return &statsapi.MemoryStats{
		Time: metav1.NewTime(m.At), AvailableBytes: m.AvailableBytes, UsageBytes: m.UsageBytes, WorkingSetBytes: m.WorkingSetBytes,
		RSSBytes: m.RSSBytes, PageFaults: m.PageFaults, MajorPageFaults: m.MajorPageFaults,
	}
}

// swapStats converts swap stats to the type of the summary API; nil stays nil.
func swapStats(s *runtime.SwapStats) *statsapi.SwapStats {
	if s == nil {
		return nil
	}
	return &statsapi.SwapStats{Time: metav1.NewTime(s.At), SwapAvailableBytes: s.AvailableBytes, SwapUsageBytes: s.UsageBytes}
}

// filesystemStats converts filesystem stats to the type of the summary API; nil stays nil.
func filesystemStats(f *runtime.FilesystemStats) *statsapi.FsStats {
	if f == nil {
		return nil
	}
	return &statsapi.FsStats{
		Time: metav1.NewTime(f.At), AvailableBytes: f.AvailableBytes, CapacityBytes: f.CapacityBytes, UsedBytes: f.UsedBytes,
		InodesFree: f.InodesFree, Inodes: f.Inodes, InodesUsed: f.InodesUsed,
	}
}

// networkStats converts network stats to the type of the summary API. The first interface is the default one;
// the list has only interfaces with a name. It returns nil if there are no stats or no interfaces.
func networkStats(n *runtime.NetworkStats) *statsapi.NetworkStats {
	if n == nil || len(n.Interfaces) == 0 {
		return nil
	}
	out := &statsapi.NetworkStats{Time: metav1.NewTime(n.At), InterfaceStats: statsapi.InterfaceStats(n.Interfaces[0])}
	for _, i := range n.Interfaces {
		if i.Name != "" { // The sums of a node have no interface name.
			out.Interfaces = append(out.Interfaces, statsapi.InterfaceStats(i))
		}
	}
	return out
}
