package cgroups

import (
	"path"
	"slices"
)

// State tells whether this agent can use cgroups. The zero State is Missing.
type State uint8

const (
	// Missing means that no cgroup hierarchy with the controller cpu, memory or pids is mounted.
	Missing State = iota
	// NotWritable means that hierarchies are mounted and the agent cannot create cgroups in any of them.
	NotWritable
	// Ready means that the agent can create cgroups with at least one of the controllers cpu, memory and pids.
	Ready
)

// String returns the name of the state.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "invalid"
}

var stateNames = [...]string{"Missing", "NotWritable", "Ready"}

// Version is the version of the hierarchy that has a controller. The zero Version means that no hierarchy has it.
type Version uint8

const (
	// V1 is cgroup v1: the controller has a hierarchy of its own.
	V1 Version = 1
	// V2 is cgroup v2: all controllers are in the unified hierarchy.
	V2 Version = 2
)

// Controller is a controller of the kernel.
type Controller uint8

// The controllers. NamedSystemd is the hierarchy without controllers in which systemd tracks processes.
const (
	CPU           Controller = iota // CPU is cpu.
	CPUAccounting                   // CPUAccounting is cpuacct, on cgroup v1 only.
	CPUSet                          // CPUSet is cpuset.
	Memory                          // Memory is memory.
	PIDs                            // PIDs is pids.
	HugeTLB                         // HugeTLB is hugetlb.
	IO                              // IO is io, on cgroup v1 blkio.
	Devices                         // Devices is devices, on cgroup v1 only.
	Freezer                         // Freezer is freezer, on cgroup v1 only.
	NamedSystemd                    // NamedSystemd is name=systemd, on cgroup v1 only.
	NetClass                        // NetClass is net_cls, on cgroup v1 only.
	NetPriority                     // NetPriority is net_prio, on cgroup v1 only.
	PerfEvent                       // PerfEvent is perf_event, on cgroup v1 only.
	RDMA                            // RDMA is rdma.
	Misc                            // Misc is misc.
	numControllers
)

// controllerNames are the names in /proc/self/mountinfo (V1) and cgroup.controllers (V2); "" if there is no such name.
var controllerNames = [numControllers]struct{ v1, v2 string }{
	CPU: {"cpu", "cpu"}, CPUAccounting: {"cpuacct", ""}, CPUSet: {"cpuset", "cpuset"}, Memory: {"memory", "memory"}, PIDs: {"pids", "pids"},
	HugeTLB: {"hugetlb", "hugetlb"}, IO: {"blkio", "io"}, Devices: {"devices", ""}, Freezer: {"freezer", ""}, NamedSystemd: {"name=systemd", ""},
	NetClass: {"net_cls", ""}, NetPriority: {"net_prio", ""}, PerfEvent: {"perf_event", ""}, RDMA: {"rdma", "rdma"}, Misc: {"misc", "misc"},
}

// Hierarchy is where a controller is. The zero Hierarchy means that the host does not have the controller.
type Hierarchy struct {
	Version Version
	Mount   string // the mount point, for example "/sys/fs/cgroup/memory"
}

// Capabilities are the abilities of a host, as Probe has found them. They can be compared by ==.
type Capabilities struct {
	State State
	// Reason is why the State is not Ready, for people.
	Reason string
	// Controllers has the hierarchy of each controller. On cgroup v2 a controller counts only if it is enabled for the
	// children of the mount point.
	Controllers [numControllers]Hierarchy
	// Unified is the mount point of cgroup v2, or "". On a host with both versions it may have no controllers.
	Unified string
	// Swap means that the limit of swap can be set.
	Swap bool
	// PSI means that the kernel measures pressure.
	PSI bool
	// KillFile means that cgroups of the unified hierarchy have the file cgroup.kill.
	KillFile bool
	// Systemd means that systemd manages the host. A runtime there usually has the cgroup driver systemd and needs the
	// names of SystemdDir. This package creates cgroups with the driver cgroupfs.
	Systemd bool
	// PageSize is the size of a memory page in bytes. The kernel rounds memory limits down to pages.
	PageSize int64
}

// Mode names the versions of a host.
type Mode string

// The modes.
const (
	// ModeNone is a host without usable controllers.
	ModeNone Mode = "none"
	// ModeV1 is a host with cgroup v1 alone.
	ModeV1 Mode = "v1"
	// ModeHybrid is a host with both versions where at least one of cpu, memory and pids is on cgroup v1.
	ModeHybrid Mode = "hybrid"
	// ModeV2 is a host where cpu, memory and pids are on cgroup v2, as far as the host has them. Only there a runtime
	// accepts values in the unified map of a container.
	ModeV2 Mode = "v2"
)

// Mode returns which versions have the controllers cpu, memory and pids. A mounted unified hierarchy without them does
// not make a host ModeV2.
func (c Capabilities) Mode() Mode {
	var onV1, onV2 bool
	for _, controller := range limitControllers {
		onV1 = onV1 || c.Controllers[controller].Version == V1
		onV2 = onV2 || c.Controllers[controller].Version == V2
	}
	switch {
	case onV1 && c.Unified != "":
		return ModeHybrid
	case onV1:
		return ModeV1
	case onV2:
		return ModeV2
	}
	return ModeNone
}

// limitControllers are the controllers whose limits this package sets. sizedControllers are those for which it creates
// directories: CPU usage is counted by cpuacct on cgroup v1. enabledControllers are those that it enables for children
// on cgroup v2: the runtime sets values of cpuset and io for containers.
var (
	limitControllers   = [...]Controller{CPU, Memory, PIDs}
	sizedControllers   = [...]Controller{CPU, CPUAccounting, Memory, PIDs}
	enabledControllers = [...]Controller{CPU, CPUSet, Memory, PIDs, IO}
)

// sizedMounts returns the mount points in which the cgroup of a pod is created.
func (c Capabilities) sizedMounts() []string {
	var mounts []string
	for _, controller := range sizedControllers {
		if mount := c.Controllers[controller].Mount; mount != "" && !slices.Contains(mounts, mount) {
			mounts = append(mounts, mount)
		}
	}
	return mounts
}

// sizesOnV2 reports whether the cgroup of a pod is created in the unified hierarchy.
func (c Capabilities) sizesOnV2() bool {
	return c.Unified != "" && slices.Contains(c.sizedMounts(), c.Unified)
}

// allMounts returns the mount points of all hierarchies. A runtime creates the cgroup of a pod in each of them.
func (c Capabilities) allMounts() []string {
	mounts := make([]string, 0, numControllers)
	for _, mount := range append([]string{c.Unified}, mountsOf(c.Controllers[:])...) {
		if mount != "" && !slices.Contains(mounts, mount) {
			mounts = append(mounts, mount)
		}
	}
	return mounts
}

// mountsOf returns the mount point of each hierarchy.
func mountsOf(hierarchies []Hierarchy) []string {
	mounts := make([]string, len(hierarchies))
	for i, h := range hierarchies {
		mounts[i] = h.Mount
	}
	return mounts
}

// filePath returns the path of a file of a controller, in the cgroup dir. It returns "" if the host does not have the
// controller.
func (c Capabilities) filePath(controller Controller, dir, nameOnV1, nameOnV2 string) string {
	h := c.Controllers[controller]
	name := nameOnV1
	if h.Version == V2 {
		name = nameOnV2
	}
	if h.Mount == "" || name == "" {
		return ""
	}
	return path.Join(h.Mount, dir, name)
}
