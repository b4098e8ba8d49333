package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

// TestReservedByThresholds_CG19: hard thresholds of memory and of the disk with volumes count, soft ones, inodes and
// images do not.
func TestReservedByThresholds_CG19(t *testing.T) {
	capacity := v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi"), v1.ResourceEphemeralStorage: resource.MustParse("1000"), v1.ResourceCPU: resource.MustParse("4")}
	for _, c := range []struct {
		hard     map[string]string
		capacity v1.ResourceList
		want     map[v1.ResourceName]string
	}{
		{eviction.DefaultHard(), capacity, map[v1.ResourceName]string{v1.ResourceMemory: "100Mi", v1.ResourceEphemeralStorage: "100"}},
		{eviction.DefaultHard(), v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}, map[v1.ResourceName]string{v1.ResourceMemory: "100Mi"}},
		{map[string]string{"memory.available": "5Gi"}, capacity, map[v1.ResourceName]string{v1.ResourceMemory: "1Gi"}},
		{map[string]string{"pid.available": "10%", "imagefs.available": "10%", "nodefs.inodesFree": "5%"}, capacity, map[v1.ResourceName]string{}},
		{nil, capacity, map[v1.ResourceName]string{}},
	} {
		settings := eviction.Settings{Hard: c.hard, Soft: map[string]string{"memory.available": "500Mi"}, SoftGracePeriod: map[string]string{"memory.available": "1m"}}
		thresholds, err := settings.Thresholds()
		require.NoError(t, err)
		got := map[v1.ResourceName]string{}
		for name, q := range eviction.ReservedByThresholds(thresholds, c.capacity) {
			got[name] = q.String()
		}
		assert.Equal(t, c.want, got)
	}
}

// TestCheckCapacity_CG19: a hard threshold that is not below the capacity is an error. A percentage from 100 % up is
// an error of any signal. Soft thresholds and other signals are not compared.
func TestCheckCapacity_CG19(t *testing.T) {
	memory := func(q string) v1.ResourceList { return v1.ResourceList{v1.ResourceMemory: resource.MustParse(q)} }
	quantity := func(q string) eviction.Amount { return eviction.Amount{Quantity: resource.MustParse(q)} }
	for _, c := range []struct {
		threshold eviction.Threshold
		capacity  v1.ResourceList
		want      string
	}{
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, memory("50Mi"),
			"eviction: the hard threshold of memory.available is 100Mi, and pods have a capacity of only 50Mi of memory: the node would evict every pod; lower the threshold or raise the capacity"},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, memory("100Mi"), "only 100Mi of memory"},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, memory("0"), "only 0 of memory"},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, memory("100E"), ""},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, memory("101Mi"), ""},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}, nil, ""},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi"), Grace: 1}, memory("50Mi"), ""},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: eviction.Amount{Percent: 99}}, memory("50Mi"), ""},
		{eviction.Threshold{Signal: eviction.MemoryAvailable, Value: eviction.Amount{Percent: 10}}, memory("0"), ""},
		{eviction.Threshold{Signal: eviction.NodeFsAvailable, Value: quantity("2Gi")}, v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("1Gi")}, "the hard threshold of nodefs.available is 2Gi"},
		{eviction.Threshold{Signal: eviction.PIDAvailable, Value: quantity("100")}, memory("50"), ""},
		{eviction.Threshold{Signal: eviction.PIDAvailable, Value: eviction.Amount{Percent: 100}}, nil,
			"eviction: the threshold of pid.available is 100% of the capacity: the node would evict every pod; lower the threshold"},
		{eviction.Threshold{Signal: eviction.ImageFsAvailable, Value: eviction.Amount{Percent: 250}, Grace: 1}, nil, "is 250% of the capacity"},
	} {
		err := eviction.CheckCapacity([]eviction.Threshold{c.threshold}, c.capacity)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

// TestThresholdsAboveCapacity: a threshold that is not below the measured capacity is in the result, hard or soft. One of
// a signal that was not measured is not.
func TestThresholdsAboveCapacity(t *testing.T) {
	settings := eviction.Settings{Hard: map[string]string{"memory.available": "100", "pid.available": "99", "imagefs.available": "500", "nodefs.available": "50%"},
		Soft: map[string]string{"memory.available": "101"}, SoftGracePeriod: map[string]string{"memory.available": "1m"}}
	thresholds, err := settings.Thresholds()
	require.NoError(t, err)
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}
	for _, s := range []eviction.Signal{eviction.MemoryAvailable, eviction.PIDAvailable, eviction.NodeFsAvailable} {
		o.Signals[s] = eviction.Observation{Available: 100, Capacity: 100}
	}
	o.Signals[eviction.NodeFsAvailable] = eviction.Observation{}
	above := o.ThresholdsAboveCapacity(thresholds)
	require.Len(t, above, 2)
	assert.Equal(t, eviction.MemoryAvailable, above[0].Signal)
	assert.False(t, above[0].IsSoft())
	assert.True(t, above[1].IsSoft())
}
