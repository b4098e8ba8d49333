package podresources

import (
	"math"
	"math/bits"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The bounds that the kernel and the kubelet set.
const (
	// MinShares is the smallest number of CPU shares.
	MinShares = 2
	// MaxShares is the largest number of CPU shares.
	MaxShares = 262144
	// DefaultCPUPeriod is the period of a CPU quota.
	DefaultCPUPeriod = 100 * time.Millisecond
	// MinCPUQuota is the smallest CPU quota. With DefaultCPUPeriod it is 10 thousandths of a CPU.
	MinCPUQuota = time.Millisecond
	// MaxCPUQuota is the largest CPU quota that the kernel accepts.
	MaxCPUQuota = (1<<44 - 1) * time.Microsecond
)

const (
	sharesPerCPU   = 1024
	maxSharesMilli = MaxShares * 1000 / sharesPerCPU // the CPU in thousandths that gives MaxShares
	maxMilliCPU    = math.MaxInt64 / 1000            // the largest CPU that an int64 holds in thousandths
	minWeight      = 1
	maxWeight      = 10000
)

// MilliCPU returns the cpu of a list in thousandths, or 0 if the list has none. A quantity that does not fit becomes
// math.MaxInt64.
func MilliCPU(list v1.ResourceList) int64 {
	q := list[v1.ResourceCPU]
	return milliValueOrMax(&q)
}

// milliValueOrMax returns a quantity in thousandths. It returns math.MaxInt64 if the result does not fit into
// an int64.
func milliValueOrMax(q *resource.Quantity) int64 {
	if q.Value() > maxMilliCPU {
		return math.MaxInt64
	}
	return q.MilliValue()
}

// SharesFromMilliCPU converts requested CPU in thousandths to CPU shares, between MinShares and MaxShares.
func SharesFromMilliCPU(milliCPU int64) int64 {
	if milliCPU <= 0 {
		return MinShares
	}
	if milliCPU >= maxSharesMilli {
		return MaxShares
	}
	return max(milliCPU*sharesPerCPU/1000, MinShares)
}

// MilliCPUFromShares converts CPU shares to requested CPU in thousandths, rounded up.
func MilliCPUFromShares(shares int64) int64 {
	shares = min(max(shares, 0), MaxShares)
	return (shares*1000 + sharesPerCPU - 1) / sharesPerCPU
}

// QuotaFromMilliCPU converts limited CPU in thousandths to a CPU quota for each period, between MinCPUQuota and
// MaxCPUQuota, in whole microseconds. No limit (0 or less) has no quota: the result is 0.
func QuotaFromMilliCPU(milliCPU int64, period time.Duration) time.Duration {
	if milliCPU <= 0 || period <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(milliCPU), uint64(period))
	quota := uint64(MaxCPUQuota)
	if high < 1000 {
		quotient, _ := bits.Div64(high, low, 1000)
		quota = min(quota, quotient)
	}
	return max(time.Duration(quota).Truncate(time.Microsecond), MinCPUQuota)
}

// MilliCPUFromQuota converts a CPU quota for each period to limited CPU in thousandths. A quota of 0 or less is no
// limit: the result is 0.
func MilliCPUFromQuota(quota, period time.Duration) int64 {
	if quota <= 0 || period <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(quota), 1000)
	if high >= uint64(period) {
		return math.MaxInt64
	}
	milliCPU, _ := bits.Div64(high, low, uint64(period))
	return int64(min(milliCPU, math.MaxInt64))
}

// EqualCPURequests reports whether two CPU requests in thousandths give a cgroup the same CPU shares. All requests of
// at most 2 thousandths are equal.
func EqualCPURequests(a, b int64) bool { return SharesFromMilliCPU(a) == SharesFromMilliCPU(b) }

// EqualCPULimits reports whether two CPU limits in thousandths give a cgroup the same CPU quota in DefaultCPUPeriod.
// All limits from 1 to 10 thousandths are equal. No limit (0 or less) equals only no limit.
func EqualCPULimits(a, b int64) bool {
	return QuotaFromMilliCPU(a, DefaultCPUPeriod) == QuotaFromMilliCPU(b, DefaultCPUPeriod)
}

// WeightFromShares converts CPU shares of cgroup v1 to the CPU weight of cgroup v2, between 1 and 10000, as the kubelet
// does for the cgroups of pods.
func WeightFromShares(shares int64) int64 {
	shares = min(max(shares, MinShares), MaxShares)
	return minWeight + (shares-MinShares)*(maxWeight-minWeight)/(MaxShares-MinShares)
}

// SharesFromWeight converts a CPU weight of cgroup v2 to CPU shares. It reverses WeightFromShares. Several numbers of
// shares have the same weight, and SharesFromWeight returns one of them.
func SharesFromWeight(weight int64) int64 {
	weight = min(max(weight, minWeight), maxWeight)
	return MinShares + (weight-minWeight)*(MaxShares-MinShares)/(maxWeight-minWeight)
}

// EqualSharesOnV2 reports whether CPU shares that were read from a cgroup v2 are the shares that cgroup v2 returns
// after shares were written. Shares lose precision on the way: 1024 shares become weight 39 and then 998 shares.
func EqualSharesOnV2(written, read int64) bool {
	return SharesFromWeight(WeightFromShares(written)) == read
}

// ContainerWeightFromShares converts CPU shares to the CPU weight of cgroup v2 as runc (from 1.3.2) and crun (from
// 1.23) do for the cgroups of containers. The curve goes through 1024 shares and weight 100, the defaults of the
// kernel. It differs from WeightFromShares.
func ContainerWeightFromShares(shares int64) int64 {
	switch {
	case shares <= MinShares:
		return minWeight
	case shares >= MaxShares:
		return maxWeight
	}
	l := math.Log2(float64(shares))
	return int64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}
