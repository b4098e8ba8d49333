// Package cgroups creates, sizes, measures and removes the cgroups of pods on Linux (experimental). It knows cgroup v1,
// v2 and hosts with both. It needs no node, no runtime and no other goroutine.
//
//	capabilities := cgroups.Probe(files, root)    what this host can do, as one value
//	writes := cgroups.Plan(capabilities, want, have)   pure: the writes that are missing, in order
//	manager := cgroups.New(cgroups.Config{...})   reads, plans and writes, for one pod at a time
//
// # Names
//
// The cgroups of one agent are below its root. A second agent, or a kubelet, has another root, so neither takes the
// pods of the other for orphans:
//
//	/podkeel-<owner>/pod<uid>             a Guaranteed pod
//	/podkeel-<owner>/burstable/pod<uid>
//	/podkeel-<owner>/besteffort/pod<uid>
//
// A UID is checked before it becomes part of a path. No function panics for any UID or path.
//
// # Writes
//
// Plan compares the wanted values with the files that exist. It writes a value only if it is set and differs. After a
// crash between two writes, after a change by another program, and after a failed write, the next Plan contains the
// writes that are left. The order of the writes keeps two rules of the kernel at each step: on cgroup v1 the CPU quota
// of a child is at most the quota of its parent, and memory.limit_in_bytes is at most memory.memsw.limit_in_bytes. So
// parents are raised before children, and children are lowered before parents. On a host with cgroup v1 controllers no
// value of cgroup v2 is written to them.
//
// # Hosts without rights
//
// Where no cgroup can be created, Probe returns a State other than Ready. The methods of the Manager do nothing there:
// Ensure returns an empty directory, and the runtime chooses where a pod runs. ReadUsage and ReadOOM return
// ErrUnavailable.
//
// # Files
//
// All access goes through the interface Files. NewHostFiles is the host's file system. It follows no symbolic link.
// Package cgroupstest has an in-memory directory that enforces the rules of the kernel. It works on every operating
// system.
//
// All methods of a Manager may be called concurrently. Calls for one pod wait for each other.
package cgroups
