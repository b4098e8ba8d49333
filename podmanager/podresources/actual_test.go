package podresources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// RZ-50, RZ-51: the resources of a pod are the ones in its cgroup. An amount that only conversions have rounded is the
// amount of the spec, and no name is added.
func TestActualResources_RZ50_RZ51(t *testing.T) {
	list := func(cpu, memory string) v1.ResourceList {
		l := v1.ResourceList{}
		for name, amount := range map[v1.ResourceName]string{v1.ResourceCPU: cpu, v1.ResourceMemory: memory} {
			if amount != "" {
				l[name] = resource.MustParse(amount)
			}
		}
		return l
	}
	format := func(l v1.ResourceList) string {
		text := ""
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "hugepages-2Mi"} {
			if q, found := l[name]; found {
				text += " " + q.String()
			}
		}
		return text
	}
	finite, unlimited := podresources.Finite, podresources.Unlimited()
	period := finite(100000)
	for _, test := range []struct {
		name                           string
		requestCPU, limitCPU, limitMem string
		overhead                       v1.ResourceList
		shares, quota, memory          podresources.Value
		requests, limits               string
	}{
		{"as in the spec", "500m", "1", "100Mi", nil, finite(512), finite(100000), finite(100 << 20), " 500m 50Mi 4Mi", " 1 100Mi"},
		{"rounded on cgroup v2", "333m", "1", "", nil, finite(podresources.SharesFromWeight(podresources.WeightFromShares(340))), finite(100000), unlimited, " 333m 50Mi 4Mi", " 1"},
		{"smallest shares and quota", "1m", "3m", "", nil, finite(2), finite(1000), unlimited, " 1m 50Mi 4Mi", " 3m"},
		{"rounded to pages", "500m", "", "104857700", nil, finite(512), unlimited, finite(100 << 20), " 500m 50Mi 4Mi", " 104857700"},
		{"before a resize", "2", "2", "100Mi", nil, finite(512), finite(50000), finite(200 << 20), " 500m 50Mi 4Mi", " 500m 200Mi"},
		{"less memory than in the spec", "2", "", "100Mi", nil, finite(2048), unlimited, finite(50 << 20), " 2 50Mi 4Mi", " 50Mi"},
		{"no limit in the cgroup", "500m", "1", "100Mi", nil, finite(512), unlimited, unlimited, " 500m 50Mi 4Mi", ""},
		{"no limit in the spec", "500m", "", "", nil, finite(512), finite(50000), finite(100 << 20), " 500m 50Mi 4Mi", ""},
		{"no request in the spec", "", "1", "", nil, finite(99), finite(100000), unlimited, " 50Mi 4Mi", " 1"},
		{"overhead", "500m", "1", "100Mi", list("100m", "10Mi"), finite(614), finite(110000), finite(110 << 20), " 500m 50Mi 4Mi", " 1 100Mi"},
		{"overhead, before a resize", "500m", "1", "100Mi", list("100m", "10Mi"), finite(1126), finite(210000), finite(210 << 20), " 1 50Mi 4Mi", " 2 200Mi"},
		{"nothing is known", "500m", "1", "100Mi", nil, podresources.Value{}, podresources.Value{}, podresources.Value{}, " 500m 50Mi 4Mi", " 1 100Mi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &v1.Pod{}
			pod.Spec.Containers = []v1.Container{{Name: "a"}}
			pod.Spec.Overhead = test.overhead
			requests := list(test.requestCPU, "50Mi")
			requests["hugepages-2Mi"] = resource.MustParse("4Mi")
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: requests, Limits: list(test.limitCPU, test.limitMem)}
			before := pod.DeepCopy()
			actual := podresources.ActualResources(pod, podresources.PodValues{CPUShares: test.shares, CPUQuota: test.quota, CPUPeriod: period, Memory: test.memory})
			assert.Equal(t, test.requests, format(actual.Requests))
			assert.Equal(t, test.limits, format(actual.Limits))
			actual.Limits["x"] = resource.MustParse("1")
			assert.Equal(t, before, pod, "the pod is not changed")
		})
	}
	assert.Equal(t, v1.ResourceRequirements{}, podresources.ActualResources(&v1.Pod{}, podresources.PodValues{CPUShares: finite(2)}))
}
