package stats

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Of is the summary of what a node has said. With onlyCPUAndMemory it has nothing else.
func Of(n node.NodeStats, onlyCPUAndMemory bool) Summary {
	s := Summary{
		Node: NodeStats{NodeName: n.Name, StartTime: metav1.NewTime(n.StartedAt), CPU: cpu(n.CPU), Memory: memory(n.Memory)},
		Pods: make([]PodStats, len(n.Pods)),
	}
	for i, p := range n.Pods {
		s.Pods[i] = pod(p, onlyCPUAndMemory)
	}
	if onlyCPUAndMemory {
		return s
	}
	s.Node.Network = network(n.Network)
	if n.ImageFilesystem != nil {
		s.Node.Runtime = &RuntimeStats{ImageFs: filesystem(n.ImageFilesystem)}
	}
	return s
}

func pod(p node.PodStats, onlyCPUAndMemory bool) PodStats {
	out := PodStats{
		PodRef: PodReference{Name: p.Name, Namespace: p.Namespace, UID: string(p.UID)}, StartTime: metav1.NewTime(p.StartedAt),
		Containers: make([]ContainerStats, len(p.Containers)), CPU: cpu(p.CPU), Memory: memory(p.Memory),
	}
	for i, c := range p.Containers {
		out.Containers[i] = ContainerStats{Name: c.Name, StartTime: metav1.NewTime(c.StartedAt), CPU: cpu(c.CPU), Memory: memory(c.Memory)}
		if !onlyCPUAndMemory {
			out.Containers[i].Rootfs, out.Containers[i].Swap = filesystem(c.Filesystem), swap(c.Swap)
		}
	}
	if onlyCPUAndMemory {
		return out
	}
	out.Network = network(p.Network)
	if p.Processes != nil {
		out.ProcessStats = &ProcessStats{p.Processes}
	}
	return out
}

func cpu(c *runtime.CPUStats) *CPUStats {
	if c == nil {
		return nil
	}
	return &CPUStats{metav1.NewTime(c.At), c.UsageNanoCores, c.UsageCoreNanoSeconds}
}

func memory(m *runtime.MemoryStats) *MemoryStats {
	if m == nil {
		return nil
	}
	return &MemoryStats{metav1.NewTime(m.At), m.AvailableBytes, m.UsageBytes, m.WorkingSetBytes, m.RSSBytes, m.PageFaults, m.MajorPageFaults}
}

func swap(s *runtime.SwapStats) *SwapStats {
	if s == nil {
		return nil
	}
	return &SwapStats{metav1.NewTime(s.At), s.AvailableBytes, s.UsageBytes}
}

func filesystem(f *runtime.FilesystemStats) *FsStats {
	if f == nil {
		return nil
	}
	return &FsStats{metav1.NewTime(f.At), f.AvailableBytes, f.CapacityBytes, f.UsedBytes, f.InodesFree, f.Inodes, f.InodesUsed}
}

func network(n *runtime.NetworkStats) *NetworkStats {
	if n == nil || len(n.Interfaces) == 0 {
		return nil
	}
	out := &NetworkStats{Time: metav1.NewTime(n.At), InterfaceStats: InterfaceStats(n.Interfaces[0])}
	for _, i := range n.Interfaces {
		if i.Name != "" { // The sums of a node are of no interface.
			out.Interfaces = append(out.Interfaces, InterfaceStats(i))
		}
	}
	return out
}
