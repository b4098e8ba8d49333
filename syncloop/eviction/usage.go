package eviction

import "github.com/podkeel/podkeel/runtime"

// Storage is the local storage of a pod outside the writable layers of its containers. A nil figure is unknown.
type Storage struct {
	// Volumes has the usage of volumes by the names in the spec of the pod.
	Volumes []VolumeUsage
	// Logs has the usage of the logs of containers by their names.
	Logs map[string]DiskUsage
	// Other is the usage of other files of the pod, such as its hosts file.
	Other DiskUsage
}

// UsageOf returns the usage of a pod from the measurements of the runtime and of its local storage. If the runtime has
// no memory usage of the whole pod, the result is the sum over its containers.
func UsageOf(stats runtime.PodStats, storage Storage) Usage {
	u := Usage{Measured: true, Processes: stats.Processes, Volumes: storage.Volumes, Other: storage.Other}
	if stats.Memory != nil {
		u.MemoryBytes = stats.Memory.WorkingSetBytes
	}
	var sum *uint64
	for _, c := range stats.Containers {
		usage := ContainerUsage{Name: c.Name, Logs: storage.Logs[c.Name]}
		if c.Memory != nil && c.Memory.WorkingSetBytes != nil {
			usage.MemoryBytes = c.Memory.WorkingSetBytes
			sum = new(uint64(sumFigures(sum, usage.MemoryBytes)))
		}
		if f := c.Filesystem; f != nil {
			usage.Layer = DiskUsage{Bytes: f.UsedBytes, Inodes: f.InodesUsed}
		}
		u.Containers = append(u.Containers, usage)
	}
	if u.MemoryBytes == nil {
		u.MemoryBytes = sum
	}
	return u
}
