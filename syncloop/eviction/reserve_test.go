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
