// Package observe measures the eviction signals of a Linux machine and the local storage of pods (experimental).
//
//	host := observe.NewHost(observe.HostConfig{NodeDirectory: root})
//	observations, err := host.ReadSignals(ctx)
//
// Host reads /proc and calls statfs. Its memory.available is the free memory and the inactive file cache of
// /proc/meminfo: the memory less the working set of all processes. Huge pages do not count as available. A signal that
// cannot be measured is absent, and the error says why. On other systems than Linux all signals are absent.
//
// Files measures directories of pods as du does. It follows no symbolic link and leaves out other file systems. If it
// cannot read everything in time, its figures are lower bounds: a pod above its limit is evicted anyway.
//
// MemoryNotifier lets the kernel request a pass of the evictor when memory becomes scarce, on cgroup v1.
package observe
