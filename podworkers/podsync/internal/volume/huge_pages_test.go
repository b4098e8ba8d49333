package volume_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// The pages of a volume are of the size that the medium names, and the pod requests pages of that size; a
// medium without a size needs a pod that requests one size only.
func TestPageSize(t *testing.T) {
	requests := func(names ...v1.ResourceName) v1.ResourceRequirements {
		r := v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}, Limits: v1.ResourceList{}}
		for _, name := range names {
			r.Requests[name], r.Limits[name] = resource.MustParse("1Gi"), resource.MustParse("1Gi")
		}
		return r
	}
	const small, large = "hugepages-2Mi", "hugepages-1Gi"
	none, one := v1.PodSpec{Containers: []v1.Container{{}}}, v1.PodSpec{Containers: []v1.Container{{Resources: requests(small)}}}
	two := v1.PodSpec{InitContainers: []v1.Container{{Resources: requests(large)}}, Containers: one.Containers}
	whole := requests(small)
	ofPod := v1.PodSpec{Containers: none.Containers, Resources: &whole}
	for _, c := range []struct {
		spec   v1.PodSpec
		medium v1.StorageMedium
		want   int64
		err    string
	}{
		{one, "HugePages", 2 << 20, ""},
		{one, "HugePages-2Mi", 2 << 20, ""},
		{one, "HugePages-2048Ki", 2 << 20, ""},
		{ofPod, "HugePages", 2 << 20, ""},
		{two, "HugePages-1Gi", 1 << 30, ""},
		{two, "HugePages-2Mi", 2 << 20, ""},
		{two, "HugePages", 0, "the pod requests huge pages of several sizes, and the medium HugePages does not say which"},
		{one, "HugePages-1Gi", 0, "the pod requests no huge pages of the size of the medium HugePages-1Gi"},
		{none, "HugePages", 0, "the pod requests no huge pages, which the medium HugePages needs"},
		{one, "HugePages-", 0, `"HugePages-" names no size of pages`},
		{one, "HugePages-much", 0, `"HugePages-much" names no size of pages`},
		{one, "HugePages--1", 0, `"HugePages--1" names no size of pages`},
	} {
		assert.True(t, volume.IsHugePages(c.medium))
		got, err := volume.PageSize(&v1.Pod{Spec: c.spec}, c.medium)
		assert.Equal(t, c.want, got, c.medium)
		if c.err != "" {
			assert.EqualError(t, err, c.err)
		} else {
			assert.NoError(t, err, c.medium)
		}
	}
	assert.False(t, volume.IsHugePages(v1.StorageMediumMemory))
	assert.False(t, volume.IsHugePages(v1.StorageMediumDefault))
}
