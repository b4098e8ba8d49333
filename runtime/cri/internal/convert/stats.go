package convert

import (
	"cmp"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// unlimited is above what is left of any limit: runtimes say so if there is none.
const unlimited = 1 << 62

// ContainerStats are a container's figures; false if it has none, as one that does not
// run.
func ContainerStats(s *cri.ContainerStats) (runtime.ContainerStats, bool) {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	out := runtime.ContainerStats{
		ContainerID: s.GetAttributes().GetId(),
		Name:        s.GetAttributes().GetMetadata().GetName(),
		CPU:         cpu(s.GetCpu(), at),
		Memory:      memory(s.GetMemory(), at),
		Swap:        swap(s.GetSwap()),
		Filesystem:  filesystem(s.GetWritableLayer()),
	}
	return out, out.ContainerID != "" && (out.CPU != nil || out.Memory != nil)
}

// PodStats are the figures of a sandbox beside those of its containers.
func PodStats(s *cri.LinuxPodSandboxStats) runtime.PodStats {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	return runtime.PodStats{
		CPU:       cpu(s.GetCpu(), at),
		Memory:    memory(s.GetMemory(), at),
		Network:   network(s.GetNetwork()),
		Processes: figure(s.GetProcess().GetProcessCount()),
	}
}

// cpu has the time at, of what it came with, where it has none of its own.
func cpu(c *cri.CpuUsage, at int64) *runtime.CPUStats {
	if c == nil || at <= 0 {
		return nil
	}
	return &runtime.CPUStats{
		At:                   when(cmp.Or(c.GetTimestamp(), at)),
		UsageCoreNanoSeconds: figure(c.GetUsageCoreNanoSeconds()),
		UsageNanoCores:       figure(c.GetUsageNanoCores()),
	}
}

// memory takes what is left as unknown if it is zero: containerd says so without a limit.
func memory(m *cri.MemoryUsage, at int64) *runtime.MemoryStats {
	if m == nil || at <= 0 {
		return nil
	}
	out := &runtime.MemoryStats{
		At:              when(cmp.Or(m.GetTimestamp(), at)),
		WorkingSetBytes: figure(m.GetWorkingSetBytes()),
		UsageBytes:      figure(m.GetUsageBytes()),
		RSSBytes:        figure(m.GetRssBytes()),
		PageFaults:      figure(m.GetPageFaults()),
		MajorPageFaults: figure(m.GetMajorPageFaults()),
	}
	if left := m.GetAvailableBytes().GetValue(); left > 0 && left < unlimited {
		out.AvailableBytes = &left
	}
	return out
}

func swap(s *cri.SwapUsage) *runtime.SwapStats {
	if s.GetTimestamp() <= 0 {
		return nil
	}
	out := &runtime.SwapStats{At: when(s.GetTimestamp()), UsageBytes: figure(s.GetSwapUsageBytes())}
	if left := s.GetSwapAvailableBytes(); left.GetValue() < unlimited {
		out.AvailableBytes = figure(left)
	}
	return out
}

func filesystem(f *cri.FilesystemUsage) *runtime.FilesystemStats {
	if f.GetTimestamp() <= 0 {
		return nil
	}
	return &runtime.FilesystemStats{At: when(f.GetTimestamp()), UsedBytes: figure(f.GetUsedBytes()), InodesUsed: figure(f.GetInodesUsed())}
}

// network has the default interface first, once.
func network(n *cri.NetworkUsage) *runtime.NetworkStats {
	if n.GetTimestamp() <= 0 || n.GetDefaultInterface() == nil && len(n.GetInterfaces()) == 0 {
		return nil
	}
	out := &runtime.NetworkStats{At: when(n.GetTimestamp())}
	first := n.GetDefaultInterface()
	if first != nil {
		out.Interfaces = append(out.Interfaces, iface(first))
	}
	for _, i := range n.GetInterfaces() {
		if first == nil || i.GetName() != first.GetName() {
			out.Interfaces = append(out.Interfaces, iface(i))
		}
	}
	return out
}

func iface(i *cri.NetworkInterfaceUsage) runtime.InterfaceStats {
	return runtime.InterfaceStats{
		Name: i.GetName(), RxBytes: figure(i.GetRxBytes()), RxErrors: figure(i.GetRxErrors()),
		TxBytes: figure(i.GetTxBytes()), TxErrors: figure(i.GetTxErrors()),
	}
}

// figure is nil for a value that the runtime has left out.
func figure(v *cri.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return new(v.GetValue())
}
