package convert

import (
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Stats are a container's figures; false if it has none, as one that does not
// run.
func Stats(s *cri.ContainerStats) (runtime.ContainerStats, bool) {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	out := runtime.ContainerStats{
		ContainerID: s.GetAttributes().GetId(),
		Name:        s.GetAttributes().GetMetadata().GetName(),
		At:          when(at),
		CPU:         time.Duration(bounded(s.GetCpu().GetUsageCoreNanoSeconds().GetValue())),
		MemoryBytes: s.GetMemory().GetWorkingSetBytes().GetValue(),
	}
	return out, out.ContainerID != "" && at > 0
}

// Mountpoint is where images lie and what they take: the first of the file
// systems that says so. Empty: none does.
func Mountpoint(all []*cri.FilesystemUsage) (at string, used uint64) {
	for _, f := range all {
		if f.GetFsId().GetMountpoint() != "" {
			return f.GetFsId().GetMountpoint(), f.GetUsedBytes().GetValue()
		}
	}
	return "", 0
}
