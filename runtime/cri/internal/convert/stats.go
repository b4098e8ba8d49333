package convert

import (
	"cmp"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// unlimitedBytes is a lower bound of the available bytes that runtimes report without a limit.
const unlimitedBytes = 1 << 62

// ContainerStats converts the figures of a container. It returns false if there are none, as for a
// container that does not run.
func ContainerStats(s *cri.ContainerStats) (runtime.ContainerStats, bool) {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	out := runtime.ContainerStats{
		ContainerID: s.GetAttributes().GetId(),
		Name:        s.GetAttributes().GetMetadata().GetName(),
		CPU:         fromCRICPU(s.GetCpu(), at),
		Memory:      fromCRIMemory(s.GetMemory(), at),
		Swap:        fromCRISwap(s.GetSwap()),
		Filesystem:  fromCRIFilesystem(s.GetWritableLayer()),
	}
	return out, out.ContainerID != "" && (out.CPU != nil || out.Memory != nil)
}

// PodStats converts the figures of a sandbox.
func PodStats(s *cri.LinuxPodSandboxStats) runtime.PodStats {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	return runtime.PodStats{
		CPU:       fromCRICPU(s.GetCpu(), at),
		Memory:    fromCRIMemory(s.GetMemory(), at),
		Network:   fromCRINetwork(s.GetNetwork()),
		Processes: uint64OrNil(s.GetProcess().GetProcessCount()),
	}
}

// fromCRICPU converts CPU usage. A usage without a timestamp gets defaultTimestamp. It returns nil if the usage
// is nil or defaultTimestamp is not positive.
func fromCRICPU(c *cri.CpuUsage, defaultTimestamp int64) *runtime.CPUStats {
	if c == nil || defaultTimestamp <= 0 {
		return nil
	}
	return &runtime.CPUStats{
		At:                   timeFromNanos(cmp.Or(c.GetTimestamp(), defaultTimestamp)),
		UsageCoreNanoSeconds: uint64OrNil(c.GetUsageCoreNanoSeconds()),
		UsageNanoCores:       uint64OrNil(c.GetUsageNanoCores()),
	}
}

// fromCRIMemory converts memory usage. A usage without a timestamp gets defaultTimestamp. Available bytes stay
// unset if they are zero, or so many that the container has no limit. It returns nil if the usage is nil or
// defaultTimestamp is not positive.
func fromCRIMemory(m *cri.MemoryUsage, defaultTimestamp int64) *runtime.MemoryStats {
	if m == nil || defaultTimestamp <= 0 {
		return nil
	}
	out := &runtime.MemoryStats{
		At:              timeFromNanos(cmp.Or(m.GetTimestamp(), defaultTimestamp)),
		WorkingSetBytes: uint64OrNil(m.GetWorkingSetBytes()),
		UsageBytes:      uint64OrNil(m.GetUsageBytes()),
		RSSBytes:        uint64OrNil(m.GetRssBytes()),
		PageFaults:      uint64OrNil(m.GetPageFaults()),
		MajorPageFaults: uint64OrNil(m.GetMajorPageFaults()),
	}
	if left := m.GetAvailableBytes().GetValue(); left > 0 && left < unlimitedBytes {
		out.AvailableBytes = &left
	}
	return out
}

func fromCRISwap(s *cri.SwapUsage) *runtime.SwapStats {
	if s.GetTimestamp() <= 0 {
		return nil
	}
	out := &runtime.SwapStats{At: timeFromNanos(s.GetTimestamp()), UsageBytes: uint64OrNil(s.GetSwapUsageBytes())}
	if left := s.GetSwapAvailableBytes(); left.GetValue() < unlimitedBytes {
		out.AvailableBytes = uint64OrNil(left)
	}
	return out
}

func fromCRIFilesystem(f *cri.FilesystemUsage) *runtime.FilesystemStats {
	if f.GetTimestamp() <= 0 {
		return nil
	}
	return &runtime.FilesystemStats{At: timeFromNanos(f.GetTimestamp()), UsedBytes: uint64OrNil(f.GetUsedBytes()), InodesUsed: uint64OrNil(f.GetInodesUsed())}
}

// fromCRINetwork converts the network usage of a sandbox. The default interface comes first. It leaves out the
// entry in the list that has the name of the default interface. It returns nil without a timestamp or without
// interfaces.
func fromCRINetwork(n *cri.NetworkUsage) *runtime.NetworkStats {
	if n.GetTimestamp() <= 0 || n.GetDefaultInterface() == nil && len(n.GetInterfaces()) == 0 {
		return nil
	}
	out := &runtime.NetworkStats{At: timeFromNanos(n.GetTimestamp())}
	first := n.GetDefaultInterface()
	if first != nil {
		out.Interfaces = append(out.Interfaces, fromCRIInterface(first))
	}
	for _, i := range n.GetInterfaces() {
		if first == nil || i.GetName() != first.GetName() {
			out.Interfaces = append(out.Interfaces, fromCRIInterface(i))
		}
	}
	return out
}

func fromCRIInterface(i *cri.NetworkInterfaceUsage) runtime.InterfaceStats {
	return runtime.InterfaceStats{
		Name: i.GetName(), RxBytes: uint64OrNil(i.GetRxBytes()), RxErrors: uint64OrNil(i.GetRxErrors()),
		TxBytes: uint64OrNil(i.GetTxBytes()), TxErrors: uint64OrNil(i.GetTxErrors()),
	}
}

// uint64OrNil returns a pointer to the value, or nil if the runtime has not set it.
func uint64OrNil(v *cri.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return new(v.GetValue())
}
