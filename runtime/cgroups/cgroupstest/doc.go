// Package cgroupstest is an in-memory cgroup file system for tests of package cgroups and its users (experimental).
// A Dir has the files that a new cgroup has, for cgroup v1, cgroup v2 or both, and enforces rules of the kernel:
//
//   - On cgroup v1 a CPU quota above the quota of the parent, or below the quota of a child, is EINVAL. A
//     memory limit above the limit of memory and swap together is EINVAL too.
//   - A memory limit below the usage is EBUSY on cgroup v1.
//   - A directory with processes or with other directories cannot be removed: EBUSY.
//   - KillProcesses ends the processes of one cgroup, and the file cgroup.kill also ends the processes of the cgroups in it.
//   - A cgroup of v2 has the files of a controller if its parent has enabled the controller.
//   - A memory limit is rounded down to pages, and CPU shares are cut to their bounds.
//
// A test changes a file as another program would (SetFile), puts processes into a cgroup (SetProcesses), lets calls
// fail (Fail), and reads which calls were made (Calls). Check reports a cgroup with a larger limit than its parent.
// All methods may be called concurrently.
package cgroupstest
