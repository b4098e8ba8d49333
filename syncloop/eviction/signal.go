package eviction

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Signal names a measured quantity of the node. The names are the kubelet's names.
type Signal string

// The signals.
const (
	// MemoryAvailable is the memory of the node less the working set of all processes, in bytes.
	MemoryAvailable Signal = "memory.available"
	// AllocatableMemoryAvailable is the memory limit of all pods together less their working set, in bytes.
	AllocatableMemoryAvailable Signal = "allocatableMemory.available"
	// PIDAvailable is the number of processes that the node can still start.
	PIDAvailable Signal = "pid.available"
	// NodeFsAvailable is the number of free bytes on the file system with volumes and logs.
	NodeFsAvailable Signal = "nodefs.available"
	// NodeFsInodesFree is the number of free inodes on the file system with volumes and logs.
	NodeFsInodesFree Signal = "nodefs.inodesFree"
	// ImageFsAvailable is the number of free bytes on the file system with images.
	ImageFsAvailable Signal = "imagefs.available"
	// ImageFsInodesFree is the number of free inodes on the file system with images.
	ImageFsInodesFree Signal = "imagefs.inodesFree"
	// ContainerFsAvailable is the number of free bytes on the file system with the writable layers of containers.
	// It always is one of the other two file systems, so thresholds for it have no effect.
	ContainerFsAvailable Signal = "containerfs.available"
	// ContainerFsInodesFree is the number of free inodes on that file system.
	ContainerFsInodesFree Signal = "containerfs.inodesFree"
)

// NodeSignalsUnobserved is the node condition that signals with a threshold cannot be measured. The kubelet has no such
// condition.
const NodeSignalsUnobserved v1.NodeConditionType = "EvictionSignalsUnobserved"

// signalOrder has all signals that can act, in the order in which one pass prefers them.
var signalOrder = [...]Signal{
	MemoryAvailable, AllocatableMemoryAvailable, PIDAvailable,
	ImageFsAvailable, ImageFsInodesFree, NodeFsAvailable, NodeFsInodesFree,
}

// Names of resources in messages. The Kubernetes API has no names for them.
const (
	// ResourceInodes is the name of inodes of any file system.
	ResourceInodes v1.ResourceName = "inodes"
	// ResourcePIDs is the name of process IDs.
	ResourcePIDs v1.ResourceName = "pids"
)

// Signals returns all known signals.
func Signals() []Signal {
	return append(slices.Clone(signalOrder[:]), ContainerFsAvailable, ContainerFsInodesFree)
}

// Resource returns the name of the resource that is short if the signal is low.
func (s Signal) Resource() v1.ResourceName {
	switch s {
	case MemoryAvailable, AllocatableMemoryAvailable:
		return v1.ResourceMemory
	case PIDAvailable:
		return ResourcePIDs
	case NodeFsInodesFree, ImageFsInodesFree, ContainerFsInodesFree:
		return ResourceInodes
	}
	return v1.ResourceEphemeralStorage
}

// Condition returns the node condition that a met threshold of the signal sets.
func (s Signal) Condition() v1.NodeConditionType {
	switch s.Resource() {
	case v1.ResourceMemory:
		return v1.NodeMemoryPressure
	case ResourcePIDs:
		return v1.NodePIDPressure
	}
	return v1.NodeDiskPressure
}

// isContainerFs reports whether the signal is about the file system with the writable layers of containers.
func (s Signal) isContainerFs() bool { return s == ContainerFsAvailable || s == ContainerFsInodesFree }

// isNodeFs reports whether the signal is about the file system with volumes and container logs.
func (s Signal) isNodeFs() bool { return s == NodeFsAvailable || s == NodeFsInodesFree }

// decisionOrder returns the position of the signal in signalOrder, from 0 up. If several thresholds are met, a
// decision acts on the one with the lowest position. It returns -1 for a signal that cannot act.
func (s Signal) decisionOrder() int { return slices.Index(signalOrder[:], s) }

// Layout is how images, writable layers, volumes and logs are spread over file systems.
type Layout uint8

// The layouts.
const (
	// OneFilesystem: one file system has everything.
	OneFilesystem Layout = iota
	// DedicatedImages: images and writable layers share a file system, volumes and logs have another one.
	DedicatedImages
	// SplitImages: only images have a file system of their own.
	SplitImages
)

// ReclaimKind is a kind of things that the node removes before it evicts a pod.
type ReclaimKind uint8

// The kinds of reclaim.
const (
	// DeadContainers are all containers that have exited and that their pods do not need.
	DeadContainers ReclaimKind = iota + 1
	// UnusedImages are all images that no container uses.
	UnusedImages
)

// String returns the kind as words.
func (k ReclaimKind) String() string {
	switch k {
	case DeadContainers:
		return "dead containers"
	case UnusedImages:
		return "unused images"
	}
	return "unknown"
}

// reclaimKinds returns what may free the resource of the signal, in the order in which it is removed. It
// returns nil for a signal that is not about a disk, and if nothing may free the resource. (EV-16)
func reclaimKinds(s Signal, layout Layout) []ReclaimKind {
	switch {
	case s.Condition() != v1.NodeDiskPressure:
		return nil
	case layout == OneFilesystem, layout == DedicatedImages && !s.isNodeFs():
		return []ReclaimKind{DeadContainers, UnusedImages}
	case layout == DedicatedImages:
		return nil
	case s.isNodeFs():
		return []ReclaimKind{DeadContainers}
	}
	return []ReclaimKind{UnusedImages}
}

// sharesFilesystem reports whether two signals are about the same file system.
func sharesFilesystem(a, b Signal, layout Layout) bool {
	if a.Condition() != v1.NodeDiskPressure || b.Condition() != v1.NodeDiskPressure {
		return a == b
	}
	return layout == OneFilesystem || a.isNodeFs() == b.isNodeFs()
}
