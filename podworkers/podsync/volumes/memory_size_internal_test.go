package volumes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestMemoryVolumeBytes: the size is the smallest of the allocatable memory, the limit of the pod and the size limit of
// the volume. Only positive values count, and a huge quantity is huge.
func TestMemoryVolumeBytes(t *testing.T) {
	const mebi, gibi = 1 << 20, 1 << 30
	memory := func(text string) v1.ResourceList {
		if text == "" {
			return nil
		}
		return v1.ResourceList{v1.ResourceMemory: resource.MustParse(text)}
	}
	for _, c := range []struct {
		sizeLimit, allocatable string
		containers             []string // memory limits
		podLimit               string
		want                   int64
	}{
		{"", "", []string{""}, "", 0},
		{"", "4Gi", []string{""}, "", 4 * gibi},
		{"1Gi", "4Gi", []string{""}, "", gibi},
		{"8Gi", "4Gi", []string{""}, "", 4 * gibi},
		{"0", "4Gi", []string{""}, "", 4 * gibi},
		{"500m", "4Gi", []string{""}, "", 1},
		{"10E", "4Gi", []string{""}, "", 4 * gibi},
		{"10E", "", []string{""}, "", math.MaxInt64},
		{"20Ei", "20Ei", []string{""}, "", math.MaxInt64},
		{"", "0", []string{"1Gi"}, "", gibi},
		{"", "4Gi", []string{"1Gi", "2Gi"}, "", 3 * gibi},
		{"", "4Gi", []string{"1Gi", ""}, "", 4 * gibi},
		{"", "4Gi", []string{"1Gi", ""}, "2Gi", 2 * gibi},
		{"1Mi", "4Gi", []string{"1Gi"}, "", mebi},
		{"10E", "4Gi", []string{"1Gi"}, "", gibi},
		{"10E", "4Gi", []string{"10E"}, "", 4 * gibi},
	} {
		pod := &v1.Pod{}
		for _, limit := range c.containers {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: memory("1Mi"), Limits: memory(limit)}})
		}
		if c.podLimit != "" {
			pod.Spec.Resources = &v1.ResourceRequirements{Limits: memory(c.podLimit)}
		}
		var limit *resource.Quantity
		if c.sizeLimit != "" {
			limit = new(resource.MustParse(c.sizeLimit))
		}
		assert.Equal(t, c.want, memoryVolumeBytes(pod, limit, memory(c.allocatable)), c)
	}
}
