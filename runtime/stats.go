package runtime

import "time"

// PodStats is the resource usage of a pod. A nil pointer here or below means that the figure is
// unknown, which is not zero.
type PodStats struct {
	// CPU and Memory are the usage of the whole pod with its sandbox. Nil means that only the
	// figures of its containers are known.
	CPU    *CPUStats
	Memory *MemoryStats
	// Network is nil for a pod on the network of the host.
	Network *NetworkStats
	// Processes is the number of processes of the pod.
	Processes *uint64
	// Containers are the running containers.
	Containers []ContainerStats
}

// ContainerStats is the resource usage of one container.
type ContainerStats struct {
	ContainerID string
	Name        string
	// StartedAt is when the container started; zero means unknown.
	StartedAt time.Time
	CPU       *CPUStats
	Memory    *MemoryStats
	Swap      *SwapStats
	// Filesystem is the usage of the writable layer.
	Filesystem *FilesystemStats
}

// CPUStats is CPU usage.
type CPUStats struct {
	// At is the time of the measurement.
	At time.Time
	// UsageCoreNanoSeconds is the CPU time used since the start, in nanoseconds. It never decreases
	// while the container runs.
	UsageCoreNanoSeconds *uint64
	// UsageNanoCores is the current rate, in billionths of a core.
	UsageNanoCores *uint64
}

// MemoryStats is memory usage, in bytes.
type MemoryStats struct {
	// At is the time of the measurement.
	At time.Time
	// WorkingSetBytes is the memory that the kernel cannot reclaim: the usage without inactive
	// files.
	WorkingSetBytes *uint64
	// AvailableBytes is the memory left below the limit; nil without a limit.
	AvailableBytes *uint64
	UsageBytes     *uint64
	RSSBytes       *uint64
	// PageFaults and MajorPageFaults are counted since the start.
	PageFaults, MajorPageFaults *uint64
}

// SwapStats is swap usage, in bytes.
type SwapStats struct {
	// At is the time of the measurement.
	At             time.Time
	UsageBytes     *uint64
	AvailableBytes *uint64
}

// NetworkStats is the traffic of the network interfaces of a pod.
type NetworkStats struct {
	// At is the time of the measurement.
	At time.Time
	// Interfaces lists the default interface first.
	Interfaces []InterfaceStats
}

// InterfaceStats are the counters of one network interface since its creation.
type InterfaceStats struct {
	Name                                 string
	RxBytes, RxErrors, TxBytes, TxErrors *uint64
}

// FilesystemStats is the usage of a file system, or of a part of one.
type FilesystemStats struct {
	// At is the time of the measurement.
	At                                       time.Time
	AvailableBytes, CapacityBytes, UsedBytes *uint64
	InodesFree, Inodes, InodesUsed           *uint64
}
