package stats

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Summary is the answer. The types of this package have the JSON of those of the kubelet.
type Summary struct {
	Node NodeStats  `json:"node"`
	Pods []PodStats `json:"pods"`
}

// NodeStats is what the node uses.
type NodeStats struct {
	NodeName  string        `json:"nodeName"`
	StartTime metav1.Time   `json:"startTime"`
	CPU       *CPUStats     `json:"cpu,omitempty"`
	Memory    *MemoryStats  `json:"memory,omitempty"`
	Network   *NetworkStats `json:"network,omitempty"`
	Runtime   *RuntimeStats `json:"runtime,omitempty"`
}

// RuntimeStats is the disk of the runtime.
type RuntimeStats struct {
	ImageFs *FsStats `json:"imageFs,omitempty"`
}

// PodStats is what a pod uses.
type PodStats struct {
	PodRef       PodReference     `json:"podRef"`
	StartTime    metav1.Time      `json:"startTime"`
	Containers   []ContainerStats `json:"containers"`
	CPU          *CPUStats        `json:"cpu,omitempty"`
	Memory       *MemoryStats     `json:"memory,omitempty"`
	Network      *NetworkStats    `json:"network,omitempty"`
	ProcessStats *ProcessStats    `json:"process_stats,omitempty"`
}

// PodReference names a pod.
type PodReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

// ContainerStats is what a container uses.
type ContainerStats struct {
	Name      string       `json:"name"`
	StartTime metav1.Time  `json:"startTime"`
	CPU       *CPUStats    `json:"cpu,omitempty"`
	Memory    *MemoryStats `json:"memory,omitempty"`
	Rootfs    *FsStats     `json:"rootfs,omitempty"`
	Swap      *SwapStats   `json:"swap,omitempty"`
}

// ProcessStats counts processes.
type ProcessStats struct {
	ProcessCount *uint64 `json:"process_count,omitempty"`
}

// NetworkStats has the default interface, and all of them.
type NetworkStats struct {
	Time metav1.Time `json:"time"`
	InterfaceStats
	Interfaces []InterfaceStats `json:"interfaces,omitempty"`
}

// InterfaceStats is what has gone through a network interface.
type InterfaceStats struct {
	Name     string  `json:"name"`
	RxBytes  *uint64 `json:"rxBytes,omitempty"`
	RxErrors *uint64 `json:"rxErrors,omitempty"`
	TxBytes  *uint64 `json:"txBytes,omitempty"`
	TxErrors *uint64 `json:"txErrors,omitempty"`
}

// CPUStats is the use of processors.
type CPUStats struct {
	Time                 metav1.Time `json:"time"`
	UsageNanoCores       *uint64     `json:"usageNanoCores,omitempty"`
	UsageCoreNanoSeconds *uint64     `json:"usageCoreNanoSeconds,omitempty"`
}

// MemoryStats is the use of memory.
type MemoryStats struct {
	Time            metav1.Time `json:"time"`
	AvailableBytes  *uint64     `json:"availableBytes,omitempty"`
	UsageBytes      *uint64     `json:"usageBytes,omitempty"`
	WorkingSetBytes *uint64     `json:"workingSetBytes,omitempty"`
	RSSBytes        *uint64     `json:"rssBytes,omitempty"`
	PageFaults      *uint64     `json:"pageFaults,omitempty"`
	MajorPageFaults *uint64     `json:"majorPageFaults,omitempty"`
}

// SwapStats is the use of swap space.
type SwapStats struct {
	Time               metav1.Time `json:"time"`
	SwapAvailableBytes *uint64     `json:"swapAvailableBytes,omitempty"`
	SwapUsageBytes     *uint64     `json:"swapUsageBytes,omitempty"`
}

// FsStats is the use of a file system.
type FsStats struct {
	Time           metav1.Time `json:"time"`
	AvailableBytes *uint64     `json:"availableBytes,omitempty"`
	CapacityBytes  *uint64     `json:"capacityBytes,omitempty"`
	UsedBytes      *uint64     `json:"usedBytes,omitempty"`
	InodesFree     *uint64     `json:"inodesFree,omitempty"`
	Inodes         *uint64     `json:"inodes,omitempty"`
	InodesUsed     *uint64     `json:"inodesUsed,omitempty"`
}
