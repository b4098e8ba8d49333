package podresources

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxPageSize is the largest page size of a kernel. The kernel rounds a memory limit down to pages.
const maxPageSize = 64 << 10

// ActualResources returns the requests and limits of a pod with resources of its own as the cgroup of the pod has them.
// actual are the values that were read from the cgroup, on cgroup v2 with the shares of SharesFromWeight. An amount whose
// conversion to the cgroup gives the read value is the amount of the spec, so that nothing is rounded. The result has no
// other names than the spec. A limit that the cgroup does not have is left out. Values that are unset, the memory request
// and all other resources are the ones in the spec. The overhead of the pod is subtracted. The caller owns the lists.
func ActualResources(pod *v1.Pod, actual PodValues) v1.ResourceRequirements {
	if pod.Spec.Resources == nil {
		return v1.ResourceRequirements{}
	}
	result := v1.ResourceRequirements{Requests: pod.Spec.Resources.Requests.DeepCopy(), Limits: pod.Spec.Resources.Limits.DeepCopy()}
	if shares, ok := actual.CPUShares.Number(); ok && hasResource(result.Requests, v1.ResourceCPU) {
		expected := SharesFromMilliCPU(MilliCPU(Requests(pod)))
		if shares != expected && !EqualSharesOnV2(expected, shares) {
			setMilliCPU(result.Requests, max(MilliCPUFromShares(shares)-MilliCPU(pod.Spec.Overhead), 0))
		}
	}
	limits := Limits(pod)
	if actual.CPUQuota.IsSet() && hasResource(result.Limits, v1.ResourceCPU) {
		limit := milliCPUFromValues(actual)
		switch {
		case EqualCPULimits(MilliCPU(limits), limit):
		case limit == 0:
			delete(result.Limits, v1.ResourceCPU)
		default:
			setMilliCPU(result.Limits, max(limit-MilliCPU(pod.Spec.Overhead), 0))
		}
	}
	if actual.Memory.IsSet() && hasResource(result.Limits, v1.ResourceMemory) {
		bytes, limited := actual.Memory.Number()
		expected := limits.Memory().Value()
		switch {
		case !limited && expected > 0:
			delete(result.Limits, v1.ResourceMemory)
		case limited && (bytes > expected || bytes <= expected-maxPageSize):
			result.Limits[v1.ResourceMemory] = *resource.NewQuantity(max(bytes-pod.Spec.Overhead.Memory().Value(), 0), resource.BinarySI)
		}
	}
	return result
}

// milliCPUFromValues returns the CPU limit of a cgroup in thousandths, or 0 if it has none.
func milliCPUFromValues(actual PodValues) int64 {
	quota, _ := actual.CPUQuota.Number()
	period, ok := actual.CPUPeriod.Number()
	if !ok {
		period = DefaultCPUPeriod.Microseconds()
	}
	return MilliCPUFromQuota(time.Duration(min(quota, int64(MaxCPUQuota/time.Microsecond)))*time.Microsecond, time.Duration(min(period, int64(MaxCPUQuota/time.Microsecond)))*time.Microsecond)
}

// hasResource reports whether a list has an amount of a resource.
func hasResource(list v1.ResourceList, name v1.ResourceName) bool {
	_, found := list[name]
	return found
}

// setMilliCPU sets the cpu of a list.
func setMilliCPU(list v1.ResourceList, milliCPU int64) {
	list[v1.ResourceCPU] = *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)
}
