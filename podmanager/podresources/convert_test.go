package podresources_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// CPU in thousandths, as shares and back.
func TestSharesFromMilliCPU_QR9(t *testing.T) {
	for milli, want := range map[int64]int64{
		-1: 2, 0: 2, 1: 2, 2: 2, 3: 3, 10: 10, 100: 102, 1000: 1024, 255999: 262142, 256000: 262144, 257000: 262144, math.MaxInt64: 262144,
	} {
		assert.Equal(t, want, podresources.SharesFromMilliCPU(milli), milli)
	}
	for shares, want := range map[int64]int64{-1: 0, 0: 0, 2: 2, 3: 3, 102: 100, 1024: 1000, 262144: 256000, math.MaxInt64: 256000} {
		assert.Equal(t, want, podresources.MilliCPUFromShares(shares), shares)
	}
}

// Each request that shares can express is read back as it was written.
func TestSharesFromMilliCPU_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Int64Range(2, 256000).Draw(t, "milli-CPU")
		assert.Equal(t, milli, podresources.MilliCPUFromShares(podresources.SharesFromMilliCPU(milli)))
	})
}

// A quota is at least one millisecond and at most what the kernel accepts.
func TestQuotaFromMilliCPU_QR9(t *testing.T) {
	const period = 100 * time.Millisecond
	for milli, want := range map[int64]time.Duration{
		-1: 0, 0: 0, 1: time.Millisecond, 10: time.Millisecond, 11: 1100 * time.Microsecond, 500: 50 * time.Millisecond, 2000: 2 * period,
		math.MaxInt64: podresources.MaxCPUQuota, math.MaxInt64 / int64(period): 9223372036800 * time.Microsecond,
	} {
		assert.Equal(t, want, podresources.QuotaFromMilliCPU(milli, period), milli)
	}
	assert.Equal(t, 5*time.Millisecond, podresources.QuotaFromMilliCPU(500, 10*time.Millisecond))
	assert.Equal(t, 3333*time.Microsecond, podresources.QuotaFromMilliCPU(333, 10009500*time.Nanosecond), "whole microseconds")
	assert.Zero(t, podresources.QuotaFromMilliCPU(500, 0))
	assert.Zero(t, podresources.QuotaFromMilliCPU(500, -1))

	for quota, want := range map[time.Duration]int64{-1: 0, 0: 0, time.Millisecond: 10, period: 1000, 2500 * time.Microsecond: 25, math.MaxInt64: 92233720368547} {
		assert.Equal(t, want, podresources.MilliCPUFromQuota(quota, period), quota)
	}
	assert.Zero(t, podresources.MilliCPUFromQuota(period, 0))
	assert.Equal(t, int64(math.MaxInt64), podresources.MilliCPUFromQuota(math.MaxInt64, 1))
	assert.Equal(t, int64(math.MaxInt64), podresources.MilliCPUFromQuota(math.MaxInt64, 999))
}

// CPU values that the kernel cannot tell apart are equal: up to 2 thousandths requested, and 1 to 10 thousandths limited.
func TestEqualCPU_QR9(t *testing.T) {
	assert.True(t, podresources.EqualCPURequests(0, 2))
	assert.False(t, podresources.EqualCPURequests(2, 3))
	assert.False(t, podresources.EqualCPURequests(1000, 1001))
	assert.True(t, podresources.EqualCPURequests(256000, 300000))
	assert.True(t, podresources.EqualCPULimits(1, 10))
	assert.False(t, podresources.EqualCPULimits(10, 11))
	assert.False(t, podresources.EqualCPULimits(0, 1), "no limit is not a small limit")
	assert.True(t, podresources.EqualCPULimits(0, -1))
}

// Shares and weights at both ends and at the default.
func TestWeightFromShares(t *testing.T) {
	for shares, want := range map[int64]int64{math.MinInt64: 1, 0: 1, 2: 1, 3: 1, 29: 2, 1024: 39, 262143: 9999, 262144: 10000, math.MaxInt64: 10000} {
		assert.Equal(t, want, podresources.WeightFromShares(shares), shares)
	}
	for weight, want := range map[int64]int64{math.MinInt64: 2, 0: 2, 1: 2, 2: 28, 39: 998, 10000: 262144, math.MaxInt64: 262144} {
		assert.Equal(t, want, podresources.SharesFromWeight(weight), weight)
	}
	assert.True(t, podresources.EqualSharesOnV2(1024, 998))
	assert.False(t, podresources.EqualSharesOnV2(1024, 1024))
	assert.False(t, podresources.EqualSharesOnV2(2048, 998))
	for shares, want := range map[int64]int64{-1: 1, 2: 1, 3: 2, 102: 17, 1024: 100, 2048: 174, 262143: 10000, 262144: 10000, math.MaxInt64: 10000} {
		assert.Equal(t, want, podresources.ContainerWeightFromShares(shares), shares)
	}
}

// Both curves never fall. A weight that was converted to shares loses at most one on the way back.
func TestWeightFromShares_Monotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.Int64Range(0, 262144).Draw(t, "shares")
		assert.LessOrEqual(t, podresources.WeightFromShares(shares), podresources.WeightFromShares(shares+1))
		assert.LessOrEqual(t, podresources.ContainerWeightFromShares(shares), podresources.ContainerWeightFromShares(shares+1))
		weight := rapid.Int64Range(1, 10000).Draw(t, "weight")
		back := podresources.WeightFromShares(podresources.SharesFromWeight(weight))
		assert.InDelta(t, weight, back, 1)
		assert.True(t, podresources.EqualSharesOnV2(shares, podresources.SharesFromWeight(podresources.WeightFromShares(shares))))
	})
}

func TestMilliCPU_Bounds(t *testing.T) {
	assert.Zero(t, podresources.MilliCPU(nil))
	assert.Equal(t, int64(1500), podresources.MilliCPU(list("cpu=1500m memory=1Gi")))
	assert.Equal(t, int64(math.MaxInt64), podresources.MilliCPU(list("cpu=9223372036854776")))
	assert.Equal(t, int64(9223372036854775000), podresources.MilliCPU(list("cpu=9223372036854775")))
	assert.Zero(t, podresources.MilliCPU(v1.ResourceList{}))
}
