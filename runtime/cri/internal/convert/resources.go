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
		MemoryLimitInBytes: bounded(r.MemoryBytes),
		CpusetCpus:         r.CPUSet,
		CpusetMems:         r.MemorySet,
		OomScoreAdj:        int64(r.OOMScoreAdj),
	}
	if r.SwapBytes > 0 { // CRI counts both together.
		out.MemorySwapLimitInBytes = bounded(r.MemoryBytes + r.SwapBytes)
	}
	for _, size := range slices.Sorted(maps.Keys(r.HugePages)) {
		out.HugepageLimits = append(out.HugepageLimits, &cri.HugepageLimit{PageSize: pageSize(size), Limit: r.HugePages[size]})
	}
	if r.PIDs > 0 {
		out.Unified = map[string]string{"pids.max": strconv.FormatInt(r.PIDs, 10)}
	}
	return out
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
