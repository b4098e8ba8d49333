package request

import (
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// The kernel's bounds of CPU shares and of a CPU quota, and the period of the quota.
const (
	minShares      = 2
	maxShares      = 262144
	sharesPerCPU   = 1024
	maxSharesMilli = maxShares * 1000 / sharesPerCPU // the CPU in thousandths that gives maxShares
	maxMilliCPU    = math.MaxInt64 / 1000            // the largest CPU that an int64 holds in thousandths
	cpuQuotaPeriod = 100 * time.Millisecond
	minQuota       = time.Millisecond
)

// The OOM score adjustments. The kernel kills processes with a high score first.
const (
	scoreGuaranteed = -997
	scoreBestEffort = 1000
)

// containerResources returns the CPU, memory, huge pages and OOM score of a container in the units of the
// runtime. A container without a limit gets the pod's limit, so that a program in the container reads the limit
// that applies.
func containerResources(pod *v1.Pod, c *v1.Container, nodeMemory uint64) runtime.Resources {
	r := cpuAndMemoryResources(podspec.ContainerRequests(c), v1.ResourceList{
		v1.ResourceCPU:    containerLimit(pod, c, v1.ResourceCPU),
		v1.ResourceMemory: containerLimit(pod, c, v1.ResourceMemory),
	})
	r.OOMScoreAdj = oomScoreAdj(pod, c, nodeMemory)
	r.HugePages = hugePageLimits(c.Resources.Limits)
	return r
}

// sandboxResources returns the CPU, memory and huge pages of the whole pod, with its overhead, in the units of
// the runtime. A resource has a limit only if the pod or each of its containers has one.
func sandboxResources(pod *v1.Pod) runtime.Resources {
	limits := podspec.Limits(pod)
	r := cpuAndMemoryResources(podspec.Requests(pod), limits)
	r.HugePages = hugePageLimits(limits)
	return r
}

// cpuAndMemoryResources converts requests and limits of CPU and memory into CPU shares, a CPU quota and
// a memory limit.
func cpuAndMemoryResources(requests, limits v1.ResourceList) runtime.Resources {
	r := runtime.Resources{
		CPUShares:   cpuShares(milliValue(requests[v1.ResourceCPU])),
		MemoryBytes: max(limits.Memory().Value(), 0),
	}
	if limit := milliValue(limits[v1.ResourceCPU]); limit > 0 {
		r.CPUPeriod = cpuQuotaPeriod
		r.CPUQuota = max(multiplyDuration(cpuQuotaPeriod, limit)/1000, minQuota)
	}
	return r
}

// containerLimit returns the container's limit of a resource, or the pod's limit if the container has none. It
// returns zero if neither is set.
func containerLimit(pod *v1.Pod, c *v1.Container, name v1.ResourceName) resource.Quantity {
	own := c.Resources.Limits[name]
	if own.IsZero() && pod.Spec.Resources != nil {
		own = pod.Spec.Resources.Limits[name]
	}
	return own
}

// milliValue returns a quantity in thousandths, or math.MaxInt64 if it does not fit.
func milliValue(q resource.Quantity) int64 {
	if q.Value() > maxMilliCPU {
		return math.MaxInt64
	}
	return q.MilliValue()
}

// cpuShares converts requested CPU in thousandths to CPU shares, between minShares and maxShares.
func cpuShares(milliCPU int64) uint64 {
	if milliCPU <= 0 {
		return minShares
	}
	if milliCPU >= maxSharesMilli {
		return maxShares
	}
	return uint64(max(milliCPU*sharesPerCPU/1000, minShares))
}

// multiplyDuration returns d times factor, or the longest duration if it does not fit.
func multiplyDuration(d time.Duration, factor int64) time.Duration {
	if factor > math.MaxInt64/int64(d) {
		return math.MaxInt64
	}
	return d * time.Duration(factor)
}

// oomScoreAdj returns the OOM score adjustment of a container. Guaranteed containers are killed last
// and BestEffort ones first. A Burstable container has a lower score if it requests a larger share of
// the node's memory.
func oomScoreAdj(pod *v1.Pod, c *v1.Container, nodeMemory uint64) int {
	switch podstatus.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return scoreGuaranteed
	case v1.PodQOSBestEffort:
		return scoreBestEffort
	}
	if nodeMemory == 0 {
		return scoreBestEffort - 1
	}
	request := memoryRequest(c) + podMemoryShare(pod)
	if podspec.IsSidecar(c) {
		request = max(request, minMemoryRequest(pod)+podMemoryShare(pod))
	}
	score := scoreBestEffort - int(scoreBestEffort*min(request/float64(nodeMemory), 1))
	return min(max(score, scoreBestEffort+scoreGuaranteed), scoreBestEffort-1)
}

// memoryRequest returns the memory request of a container in bytes, or 0 if it has none.
func memoryRequest(c *v1.Container) float64 {
	return float64(max(c.Resources.Requests.Memory().Value(), 0))
}

// podMemoryShare returns one container's equal share of the memory that the pod requests beyond the requests of
// its containers and sidecars. It returns 0 if the pod has no memory request of its own.
func podMemoryShare(pod *v1.Pod) float64 {
	if pod.Spec.Resources == nil || pod.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	rest := float64(pod.Spec.Resources.Requests.Memory().Value())
	n := len(pod.Spec.Containers)
	for i := range pod.Spec.Containers {
		rest -= memoryRequest(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			rest -= memoryRequest(c)
			n++
		}
	}
	return max(rest, 0) / float64(max(n, 1))
}

// minMemoryRequest returns the smallest memory request of the regular containers, or 0 if there are none.
func minMemoryRequest(pod *v1.Pod) float64 {
	least := math.Inf(1)
	for i := range pod.Spec.Containers {
		least = min(least, memoryRequest(&pod.Spec.Containers[i]))
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// hugePageLimits returns the limits of huge pages in bytes by page size, for example "2Mi". It returns nil if
// there are none.
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
