package runtime

import "time"

// PodStats is what a pod uses. A nil pointer, here and in all parts, says that the figure
// is not known, which is not the same as zero.
type PodStats struct {
	// CPU and Memory are those of the whole pod, its sandbox included. Nil: only those of
	// its containers are known.
	CPU    *CPUStats
	Memory *MemoryStats
	// Network is nil for a pod on the network of the host.
	Network *NetworkStats
	// Processes is how many processes the pod has.
	Processes *uint64
	// Containers are those that run.
	Containers []ContainerStats
}

// ContainerStats is what one container uses.
type ContainerStats struct {
	ContainerID string
	Name        string
	// StartedAt is when the container started; zero: not known.
	StartedAt time.Time
	CPU       *CPUStats
	Memory    *MemoryStats
	Swap      *SwapStats
	// Filesystem is the writable layer.
	Filesystem *FilesystemStats
}

// CPUStats is the use of processors.
type CPUStats struct {
	// At is when it was measured.
	At time.Time
	// UsageCoreNanoSeconds is the processor time used so far, in nanoseconds. It never
	// goes down during the life of a container.
	UsageCoreNanoSeconds *uint64
	// UsageNanoCores is the rate at which it grows: billionths of a processor.
	UsageNanoCores *uint64
}

// MemoryStats is the use of memory, in bytes.
type MemoryStats struct {
	// At is when it was measured.
	At time.Time
	// WorkingSetBytes is the memory that cannot be taken away: the usage without files
	// that have not been read for a while.
	WorkingSetBytes *uint64
	// AvailableBytes is how much is left up to the limit; nil without a limit.
	AvailableBytes *uint64
	UsageBytes     *uint64
	RSSBytes       *uint64
	// PageFaults and MajorPageFaults are counted since the start.
	PageFaults, MajorPageFaults *uint64
}

// SwapStats is the use of swap space, in bytes.
type SwapStats struct {
	// At is when it was measured.
	At             time.Time
	UsageBytes     *uint64
	AvailableBytes *uint64
}

// NetworkStats is what has gone through the network interfaces of a pod.
type NetworkStats struct {
	// At is when it was measured.
	At time.Time
	// Interfaces begin with the default one.
	Interfaces []InterfaceStats
}

// InterfaceStats are the counters of one network interface since it was made.
type InterfaceStats struct {
	Name                                 string
	RxBytes, RxErrors, TxBytes, TxErrors *uint64
}

// FilesystemStats is the use of a file system, or of a part of one.
type FilesystemStats struct {
	// At is when it was measured.
	At                                       time.Time
	AvailableBytes, CapacityBytes, UsedBytes *uint64
	InodesFree, Inodes, InodesUsed           *uint64
}
