package podsync

import (
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/plan"
	"github.com/podkeel/podkeel/runtime"
)

// The kernel's bounds of cpu shares and of a quota, and the period of ours.
const (
	minShares  = 2
	maxShares  = 262144
	sharesOf1  = 1024
	quotaFrame = 100 * time.Millisecond
	minQuota   = time.Millisecond
)

// The scores by which the kernel picks whom to kill when memory runs out.
const (
	scoreGuaranteed = -997
	scoreBestEffort = 1000
)

// resources turns requests and limits into what the kernel takes.
func resources(pod *v1.Pod, c *v1.Container, nodeMemory uint64) runtime.Resources {
	cpuLimit, limited := c.Resources.Limits[v1.ResourceCPU]
	cpuRequest, requested := c.Resources.Requests[v1.ResourceCPU]
	if !requested && limited {
		cpuRequest = cpuLimit
	}
	r := runtime.Resources{
		CPUShares:   shares(milli(cpuRequest)),
		MemoryBytes: uint64(max(c.Resources.Limits.Memory().Value(), 0)),
		OOMScoreAdj: oomScore(pod, c, nodeMemory),
		HugePages:   hugePages(c.Resources.Limits),
	}
	if limit := milli(cpuLimit); limit > 0 {
		r.CPUPeriod = quotaFrame
		r.CPUQuota = max(times(quotaFrame, limit)/1000, minQuota)
	}
	return r
}

// milli is a quantity in thousandths, or the most that there can be.
func milli(q resource.Quantity) int64 {
	if q.Value() > math.MaxInt64/1000 {
		return math.MaxInt64
	}
	return q.MilliValue()
}

// shares are in proportion to the cpu that is requested.
func shares(milli int64) uint64 {
	if milli <= 0 {
		return minShares
	}
	if milli >= maxShares*1000/sharesOf1 {
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
	switch plan.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return scoreGuaranteed
	case v1.PodQOSBestEffort:
		return scoreBestEffort
	}
	if nodeMemory == 0 {
		return scoreBestEffort - 1
	}
	request := float64(max(c.Resources.Requests.Memory().Value(), 0))
	score := scoreBestEffort - int(scoreBestEffort*min(request/float64(nodeMemory), 1))
	return min(max(score, scoreBestEffort+scoreGuaranteed), scoreBestEffort-1)
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

// crashKey tells whether a container is still the one that crashed before:
// another image or other resources make it another.
func crashKey(c *v1.Container) string {
	var b strings.Builder
	b.WriteString(c.Image)
	for _, list := range [...]v1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		names := make([]string, 0, len(list))
		for name := range list {
			names = append(names, string(name))
		}
		slices.Sort(names)
		for _, name := range names {
			writeQuantity(&b, name, list[v1.ResourceName(name)])
		}
		b.WriteByte('|')
	}
	return b.String()
}

func writeQuantity(b *strings.Builder, name string, q resource.Quantity) {
	b.WriteByte(' ')
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(q.String())
}
