package convert

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Resources are shares in the kernel's units; nil if nothing is asked for.
func Resources(r runtime.Resources) *cri.LinuxContainerResources {
	if reflect.ValueOf(r).IsZero() {
		return nil
	}
	out := &cri.LinuxContainerResources{
		CpuShares:          bounded(r.CPUShares),
		CpuPeriod:          int64(r.CPUPeriod / time.Microsecond),
		CpuQuota:           int64(r.CPUQuota / time.Microsecond),
		MemoryLimitInBytes: max(r.MemoryBytes, runtime.Unlimited),
		CpusetCpus:         r.CPUSet,
		CpusetMems:         r.MemorySet,
		OomScoreAdj:        int64(r.OOMScoreAdj),
	}
	if r.CPUQuota < 0 {
		out.CpuQuota = runtime.Unlimited
	}
	out.MemorySwapLimitInBytes = memoryAndSwap(r.MemoryBytes, r.SwapBytes)
	for _, size := range slices.Sorted(maps.Keys(r.HugePages)) {
		out.HugepageLimits = append(out.HugepageLimits, &cri.HugepageLimit{PageSize: pageSize(size), Limit: r.HugePages[size]})
	}
	if r.PIDs != 0 {
		out.Unified = map[string]string{"pids.max": pids(r.PIDs)}
	}
	return out
}

// memoryAndSwap is the limit of both together, which is how CRI counts swap.
func memoryAndSwap(memory, swap int64) int64 {
	if swap == 0 {
		return 0
	}
	if min(swap, memory) < 0 {
		return runtime.Unlimited
	}
	return bounded(uint64(memory) + uint64(swap))
}

// pids is a limit as the kernel writes it.
func pids(n int64) string {
	if n < 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// pageSize is a size as the kernel names its files: 2MB for the 2Mi of a pod, or
// for its 2048Ki. What is no size stays as it is.
func pageSize(size string) string {
	q, err := resource.ParseQuantity(size)
	if err != nil {
		return size
	}
	n, unit := q.Value(), 0
	for units := len(pageUnits) - 1; unit < units && n > 0 && n%1024 == 0; unit++ {
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + pageUnits[unit]
}

var pageUnits = [...]string{"B", "KB", "MB", "GB"}

// bounded is a number that cannot turn negative.
func bounded(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
