// Package cgroups creates, sizes, measures and removes the cgroups of pods on Linux (experimental). It does so as the
// cgroup driver cgroupfs. It supports cgroup v1, v2 and hosts with both. It needs no node, no runtime and no goroutine.
//
//	Probe     finds out what this host can do, and returns it as Capabilities
//	Read      reads the cgroups that exist
//	Plan      pure: returns the writes that give the cgroups the wanted values, in order
//	Manager   reads, plans and makes the writes for each pod
//
// # Names
//
// The cgroups of one agent are below its Root. A second agent, or a kubelet, has another root, so neither removes the
// cgroups of the other's pods as orphans:
//
//	/podkeel-<owner>/pod<uid>             a Guaranteed pod
//	/podkeel-<owner>/burstable/pod<uid>
//	/podkeel-<owner>/besteffort/pod<uid>
//
// A UID is checked before it becomes part of a path. No function panics for any UID or path. A runtime with the cgroup
// driver systemd needs other names, which SystemdDir returns.
//
// # Writes
//
// Plan compares the wanted values with the files that exist. It writes a value only if it is set and differs. After a
// crash between two writes, after a change by another program, and after a failed write, the next Plan contains the
// writes that are left. The order of the writes keeps two rules of the kernel at each step: on cgroup v1 the CPU quota
// of a child is at most the quota of its parent, and memory.limit_in_bytes is at most memory.memsw.limit_in_bytes. So
// parents are raised before children, and children are lowered before parents. A controller of cgroup v1 gets no value
// that only cgroup v2 has.
//
// # Hosts without rights
//
// Where no cgroup can be created, Probe returns a State other than Ready. The methods of the Manager do nothing there:
// Ensure returns an empty directory, and the runtime chooses where a pod runs. ReadUsage and ReadOOM return
// ErrUnavailable.
//
// # Files
//
// All access goes through the interface Files. NewHostFiles is the host's file system. It follows no symbolic link. As a
// ProcessKiller it also kills the processes that are left in a cgroup.
// Package cgroupstest has an in-memory directory that enforces the rules of the kernel. It works on every operating
// system.
//
// All methods of a Manager may be called concurrently. Calls for one pod wait for each other.
package cgroups
