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

// The kernel's bounds of cpu shares and of a quota, and the period of ours.
const (
	minShares  = 2
	maxShares  = 262144
	sharesOf1  = 1024
	fullShares = maxShares * 1000 / sharesOf1 // thousandths that make maxShares
	mostCPU    = math.MaxInt64 / 1000         // that can be counted in thousandths
	quotaFrame = 100 * time.Millisecond
	minQuota   = time.Millisecond
)

// The scores by which the kernel picks whom to kill when memory runs out.
const (
	scoreGuaranteed = -997
	scoreBestEffort = 1000
)

// resources turns a container's requests and limits into what the kernel takes.
// Where it has no limit of its own the pod's is one all the same: whoever reads
// it from inside sees what is there.
func resources(pod *v1.Pod, c *v1.Container, nodeMemory uint64) runtime.Resources {
	r := kernel(podspec.ContainerRequests(c), v1.ResourceList{
		v1.ResourceCPU:    limit(pod, c, v1.ResourceCPU),
		v1.ResourceMemory: limit(pod, c, v1.ResourceMemory),
	})
	r.OOMScoreAdj = oomScore(pod, c, nodeMemory)
	r.HugePages = hugePages(c.Resources.Limits)
	return r
}

// podResources are those of a pod as a whole, its overhead included. What not
// every container limits is not limited, unless the pod says so itself. Whom the
// kernel kills when memory runs out is a matter of containers.
func podResources(pod *v1.Pod) runtime.Resources {
	limits := podspec.Limits(pod)
	r := kernel(podspec.Requests(pod), limits)
	r.HugePages = hugePages(limits)
	return r
}

// kernel turns requests and limits of cpu and memory into what the kernel takes.
func kernel(requests, limits v1.ResourceList) runtime.Resources {
	r := runtime.Resources{
		CPUShares:   shares(milli(requests[v1.ResourceCPU])),
		MemoryBytes: max(limits.Memory().Value(), 0),
	}
	if limit := milli(limits[v1.ResourceCPU]); limit > 0 {
		r.CPUPeriod = quotaFrame
		r.CPUQuota = max(times(quotaFrame, limit)/1000, minQuota)
	}
	return r
}

// limit is a container's, or else the pod's.
func limit(pod *v1.Pod, c *v1.Container, name v1.ResourceName) resource.Quantity {
	own := c.Resources.Limits[name]
	if own.IsZero() && pod.Spec.Resources != nil {
		own = pod.Spec.Resources.Limits[name]
	}
	return own
}

// milli is a quantity in thousandths, or the most that there can be.
func milli(q resource.Quantity) int64 {
	if q.Value() > mostCPU {
		return math.MaxInt64
	}
	return q.MilliValue()
}

// shares are in proportion to the cpu that is requested.
func shares(milli int64) uint64 {
	if milli <= 0 {
		return minShares
	}
	if milli >= fullShares {
		return maxShares
	}
	return uint64(max(milli*sharesOf1/1000, minShares))
}

// times is d n times, or the longest duration if that is shorter.
func times(d time.Duration, n int64) time.Duration {
	if n > math.MaxInt64/int64(d) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// oomScore ranks a container: Guaranteed ones go last, BestEffort ones first,
// and in between those that ask for the smaller share of the node's memory.
func oomScore(pod *v1.Pod, c *v1.Container, nodeMemory uint64) int {
	switch podstatus.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return scoreGuaranteed
	case v1.PodQOSBestEffort:
		return scoreBestEffort
	}
	if nodeMemory == 0 {
		return scoreBestEffort - 1
	}
	request := memoryRequest(c) + memoryShare(pod)
	if podspec.IsSidecar(c) {
		request = max(request, leastMemory(pod)+memoryShare(pod))
	}
	score := scoreBestEffort - int(scoreBestEffort*min(request/float64(nodeMemory), 1))
	return min(max(score, scoreBestEffort+scoreGuaranteed), scoreBestEffort-1)
}

func memoryRequest(c *v1.Container) float64 {
	return float64(max(c.Resources.Requests.Memory().Value(), 0))
}

// memoryShare is each container's part of what a pod requests as a whole beyond
// what its containers request.
func memoryShare(pod *v1.Pod) float64 {
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

// leastMemory is the smallest request of the regular containers: a sidecar,
// which they need, is not killed before all of them.
func leastMemory(pod *v1.Pod) float64 {
	least := math.Inf(1)
	for i := range pod.Spec.Containers {
		least = min(least, memoryRequest(&pod.Spec.Containers[i]))
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// hugePages are the limits of huge pages, in bytes by page size.
func hugePages(limits v1.ResourceList) map[string]uint64 {
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
