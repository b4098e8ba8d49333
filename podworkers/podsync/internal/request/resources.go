package request

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime"
)

// containerResources returns the CPU, memory, huge pages and OOM score of a container as the runtime needs
// them. For CPU and memory, a container without a limit gets the limit of its pod, so that programs in the
// container see the limit that applies. A container without a CPU request gets the shares of its CPU limit, also if
// that is the limit of the pod.
func containerResources(pod *v1.Pod, c *v1.Container, nodeMemory uint64) runtime.Resources {
	requests, limits := podspec.ContainerRequests(c), v1.ResourceList{
		v1.ResourceCPU:    containerLimit(pod, c, v1.ResourceCPU),
		v1.ResourceMemory: containerLimit(pod, c, v1.ResourceMemory),
	}
	if _, found := requests[v1.ResourceCPU]; !found {
		requests = v1.ResourceList{v1.ResourceCPU: limits[v1.ResourceCPU]}
	}
	r := cpuAndMemoryResources(requests, limits)
	r.OOMScoreAdj = podresources.OOMScoreAdj(pod, c, nodeMemory)
	r.HugePages = hugePageLimits(c.Resources.Limits)
	return r
}

// ResourcesToUpdate returns the amounts of cpu or memory that a running container should have, for an update by
// the runtime. A missing limit is runtime.Unlimited, because the runtime leaves a zero field unchanged.
func ResourcesToUpdate(pod *v1.Pod, c *v1.Container, name v1.ResourceName) (update runtime.Resources) {
	all := containerResources(pod, c, 0)
	if name == v1.ResourceMemory {
		update.MemoryBytes = all.MemoryBytes
		if update.MemoryBytes == 0 {
			update.MemoryBytes = runtime.Unlimited
		}
		return update
	}
	update.CPUShares, update.CPUPeriod, update.CPUQuota = all.CPUShares, all.CPUPeriod, all.CPUQuota
	if update.CPUQuota == 0 {
		update.CPUPeriod, update.CPUQuota = podresources.DefaultCPUPeriod, runtime.Unlimited
	}
	return update
}

// sandboxResources returns the CPU, memory and huge pages of all containers of a pod, without its overhead, as the
// runtime needs them.
func sandboxResources(pod *v1.Pod) runtime.Resources {
	withoutOverhead := v1.Pod{Spec: pod.Spec}
	withoutOverhead.Spec.Overhead = nil
	limits := podspec.Limits(&withoutOverhead)
	r := cpuAndMemoryResources(podspec.Requests(&withoutOverhead), limits)
	r.HugePages = hugePageLimits(limits)
	return r
}

// overheadResources returns the CPU and memory of a pod's overhead, which are requests and limits. It returns
// the zero value if the pod has no overhead.
func overheadResources(pod *v1.Pod) runtime.Resources {
	if len(pod.Spec.Overhead) == 0 {
		return runtime.Resources{}
	}
	return cpuAndMemoryResources(pod.Spec.Overhead, pod.Spec.Overhead)
}

// cpuAndMemoryResources converts requests and limits to CPU shares, a CPU quota and a memory limit. Without a
// CPU limit there is no quota. The memory request has no effect.
func cpuAndMemoryResources(requests, limits v1.ResourceList) runtime.Resources {
	r := runtime.Resources{
		CPUShares:   uint64(podresources.SharesFromMilliCPU(podresources.MilliCPU(requests))),
		MemoryBytes: max(limits.Memory().Value(), 0),
	}
	if quota := podresources.QuotaFromMilliCPU(podresources.MilliCPU(limits), podresources.DefaultCPUPeriod); quota > 0 {
		r.CPUPeriod, r.CPUQuota = podresources.DefaultCPUPeriod, quota
	}
	return r
}

// containerLimit returns the container's limit of a resource or, if it is not set or zero, the limit of the
// pod. It returns zero if neither is set.
func containerLimit(pod *v1.Pod, c *v1.Container, name v1.ResourceName) resource.Quantity {
	own := c.Resources.Limits[name]
	if own.IsZero() && pod.Spec.Resources != nil {
		own = pod.Spec.Resources.Limits[name]
	}
	return own
}

// hugePageLimits returns the huge page limits in bytes, by page size such as "2Mi". It returns nil if there are
// none.
func hugePageLimits(limits v1.ResourceList) map[string]uint64 {
	var out map[string]uint64
	for name, quantity := range limits {
		size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		if out == nil {
			out = make(map[string]uint64)
		}
		out[size] = uint64(max(quantity.Value(), 0))
	}
	return out
}
