package cri

import (
	"github.com/podkeel/podkeel/runtime"
)

// cgroupRoot is where Linux mounts control groups.
const cgroupRoot = "/sys/fs/cgroup"

// fitting are resources without what CRI has no way to ask for on this host. CRI passes
// a limit of processes among the settings of cgroup v2 only, and a runtime on cgroup v1
// fails to start a container that has any of those. The container runs without the
// limit, and the log tells so.
func (r *Runtime) fitting(resources runtime.Resources, of ...any) runtime.Resources {
	if r.cfg.CgroupVersion != 1 || resources.PIDs == 0 {
		return resources
	}
	if resources.PIDs > 0 {
		r.cfg.Log.Warn("CRI cannot limit processes on a host with cgroup v1: there is no such limit", of...)
	}
	resources.PIDs = 0
	return resources
}
