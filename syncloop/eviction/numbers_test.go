package eviction_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

// TestParseAmount_TooLarge: an amount that takes minutes to parse or that no number can hold is an error. Of never
// overflows.
func TestParseAmount_TooLarge(t *testing.T) {
	for _, text := range []string{"1e-999999999", "1e999999999", "10E", "1e30", "9999999999999999999999999"} {
		_, err := eviction.ParseAmount(text)
		require.Error(t, err, text)
	}
	a, err := eviction.ParseAmount("1e30%")
	require.NoError(t, err)
	assert.EqualValues(t, int64(math.MaxInt64), a.Of(1<<40))
	assert.EqualValues(t, int64(math.MaxInt64), eviction.Amount{Quantity: resource.MustParse("10E")}.Of(1))
}

// TestDecide_HugeLocalLimits: a pod whose limits of local storage exceed the largest int64 is not evicted.
func TestDecide_HugeLocalLimits(t *testing.T) {
	huge := resource.MustParse("10E")
	pod := &v1.Pod{}
	pod.UID = "a"
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceEphemeralStorage: huge}}}}
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &huge}}}}
	p := eviction.NewPod(pod)
	used := eviction.DiskUsage{Bytes: new(uint64(4096))}
	p.Usage = eviction.Usage{
		Measured: true, Containers: []eviction.ContainerUsage{{Name: "main", Logs: used}},
		Volumes: []eviction.VolumeUsage{{Name: "data", DiskUsage: used}},
	}
	assert.Empty(t, eviction.Policy{}.Decide(eviction.History{}, eviction.Observations{}, []eviction.Pod{p}, time.Unix(1, 0)).Victims)
}

// TestRank_StorageIncomplete: a pod whose files take too long to count is not the first victim of scarce memory, but of a full
// disk.
func TestRank_StorageIncomplete(t *testing.T) {
	of := func(name string, unknown bool, priority int32, bytes uint64) eviction.Pod {
		pod := &v1.Pod{}
		pod.Name, pod.Spec.Priority = name, &priority
		p := eviction.NewPod(pod)
		p.Usage = eviction.Usage{Measured: true, StorageIncomplete: unknown, MemoryBytes: &bytes}
		return p
	}
	pods := []eviction.Pod{of("important", true, 1000, 1), of("hungry", false, 0, 1000)}
	assert.Equal(t, []int{1, 0}, eviction.Rank(eviction.MemoryAvailable, eviction.OneFilesystem, pods))
	assert.Equal(t, []int{1, 0}, eviction.Rank(eviction.PIDAvailable, eviction.OneFilesystem, pods))
	assert.Equal(t, []int{0, 1}, eviction.Rank(eviction.NodeFsAvailable, eviction.OneFilesystem, pods))
	assert.Equal(t, []int{0, 1}, eviction.Rank(eviction.NodeFsInodesFree, eviction.OneFilesystem, pods))
}
