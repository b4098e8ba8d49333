package request_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

const gi = 1 << 30

// list is a resource list of names and quantities by turns.
func list(pairs ...string) v1.ResourceList {
	l := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// CPU, memory and huge pages in the units of the kernel, within its bounds.
func TestContainer_Resources(t *testing.T) {
	frame := 100 * time.Millisecond
	for _, c := range []struct {
		requests, limits v1.ResourceList
		whole            *v1.ResourceRequirements
		want             runtime.Resources
	}{
		{nil, nil, nil, runtime.Resources{CPUShares: 2}},
		{list("cpu", "1m"), nil, nil, runtime.Resources{CPUShares: 2}},
		{list("cpu", "2m"), nil, nil, runtime.Resources{CPUShares: 2}},
		{list("cpu", "3m"), nil, nil, runtime.Resources{CPUShares: 3}},
		{list("cpu", "1"), nil, nil, runtime.Resources{CPUShares: 1024}},
		{list("cpu", "-1"), nil, nil, runtime.Resources{CPUShares: 2}},
		{list("cpu", "255999m"), nil, nil, runtime.Resources{CPUShares: 262142}},
		{list("cpu", "256"), nil, nil, runtime.Resources{CPUShares: 262144}},
		{list("cpu", "257"), nil, nil, runtime.Resources{CPUShares: 262144}},
		{list("cpu", "1"), list("cpu", "2"), nil, runtime.Resources{CPUShares: 1024, CPUPeriod: frame, CPUQuota: 2 * frame}},
		{nil, list("cpu", "1m"), nil, runtime.Resources{CPUShares: 2, CPUPeriod: frame, CPUQuota: time.Millisecond}},
		{nil, list("cpu", "11m"), nil, runtime.Resources{CPUShares: 11, CPUPeriod: frame, CPUQuota: 1100 * time.Microsecond}},
		{nil, list("cpu", "0"), nil, runtime.Resources{CPUShares: 2}},
		{list("cpu", "1"), list("cpu", "-1"), nil, runtime.Resources{CPUShares: 1024}},
		{nil, list("cpu", "9223372036854775807"), nil, runtime.Resources{CPUShares: 262144, CPUPeriod: frame, CPUQuota: podresources.MaxCPUQuota}},
		// The most that is not too much: both for a number of thousandths and for a quota.
		{nil, list("cpu", "9223372036854775"), nil, runtime.Resources{CPUShares: 262144, CPUPeriod: frame, CPUQuota: podresources.MaxCPUQuota}},
		{nil, list("cpu", "92233720"), nil, runtime.Resources{CPUShares: 262144, CPUPeriod: frame, CPUQuota: 92233720 * frame}},
		{nil, list("cpu", "92233720368m"), nil, runtime.Resources{CPUShares: 262144, CPUPeriod: frame, CPUQuota: 9223372036800000}},
		{nil, list("memory", "1Gi"), nil, runtime.Resources{CPUShares: 2, MemoryBytes: gi}},
		{nil, list("memory", "-1"), nil, runtime.Resources{CPUShares: 2}},
		{nil, list("hugepages-2Mi", "4Mi", "hugepages-1Gi", "-1"), nil, runtime.Resources{CPUShares: 2, HugePages: map[string]uint64{"2Mi": 4 << 20, "1Gi": 0}}},
		// A container without a limit gets the limit of the pod.
		{nil, list("cpu", "1"), &v1.ResourceRequirements{Limits: list("cpu", "3", "memory", "2Gi")}, runtime.Resources{CPUShares: 1024, CPUPeriod: frame, CPUQuota: frame, MemoryBytes: 2 * gi}},
		{nil, list("memory", "0"), &v1.ResourceRequirements{Limits: list("memory", "2Gi")}, runtime.Resources{CPUShares: 2, MemoryBytes: 2 * gi}},
	} {
		pod := named(func(s *v1.PodSpec) {
			s.Resources, s.Containers = c.whole, []v1.Container{{Name: "a", Resources: v1.ResourceRequirements{Requests: c.requests, Limits: c.limits}}}
		})
		got := asked(new(request.Node), pod).Resources
		got.OOMScoreAdj = 0
		assert.Equal(t, c.want, got, "%v %v", c.requests, c.limits)
	}
}

// Whom the kernel kills first: by class, and among the Burstable by their share of the
// memory of the node, within bounds.
func TestContainer_OOMScore(t *testing.T) {
	both := list("cpu", "1", "memory", "1Gi")
	memory := func(q string) v1.Container {
		return v1.Container{Name: "a", Resources: v1.ResourceRequirements{Requests: list("memory", q)}}
	}
	sidecar := func(q string) v1.Container {
		c := memory(q)
		c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		return c
	}
	whole := func(q string) *v1.ResourceRequirements { return &v1.ResourceRequirements{Requests: list("memory", q)} }
	cpuOnly := v1.Container{Name: "a", Resources: v1.ResourceRequirements{Requests: list("cpu", "1")}}
	for _, c := range []struct {
		why  string
		node uint64
		spec v1.PodSpec
		want int
	}{
		{"best effort", 4 * gi, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}, 1000},
		{"guaranteed", 4 * gi, v1.PodSpec{Containers: []v1.Container{{Name: "a", Resources: v1.ResourceRequirements{Limits: both}}}}, -997},
		{"a quarter", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("1Gi")}}, 750},
		{"the node is not known", 0, v1.PodSpec{Containers: []v1.Container{memory("1Gi")}}, 999},
		{"nothing", 4 * gi, v1.PodSpec{Containers: []v1.Container{cpuOnly}}, 999},
		{"less than nothing", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("-1Gi")}}, 999},
		{"all", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("4Gi")}}, 3},
		{"more than all", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("8Gi")}}, 3},
		{"nearly all", 1000, v1.PodSpec{Containers: []v1.Container{memory("996")}}, 4},
		{"the share of what the pod requests", 4 * gi, v1.PodSpec{Resources: whole("2Gi"), Containers: []v1.Container{cpuOnly, cpuOnly}}, 750},
		{"beyond its containers", 4 * gi, v1.PodSpec{Resources: whole("3Gi"), Containers: []v1.Container{memory("1Gi"), cpuOnly}}, 500},
		{"all containers share", 4 * gi, v1.PodSpec{Resources: whole("4Gi"), InitContainers: []v1.Container{sidecar("1Gi"), memory("0")}, Containers: []v1.Container{cpuOnly}}, 750},
		{"nothing is left to share", 4 * gi, v1.PodSpec{Resources: whole("1Gi"), Containers: []v1.Container{memory("2Gi")}}, 500},
		{"the pod requests cpu only", 4 * gi, v1.PodSpec{Resources: &v1.ResourceRequirements{Requests: list("cpu", "1")}, Containers: []v1.Container{memory("2Gi")}}, 500},
	} {
		pod := named(func(s *v1.PodSpec) { *s = c.spec })
		assert.Equal(t, c.want, asked(&request.Node{MemoryBytes: c.node}, pod).Resources.OOMScoreAdj, c.why)
	}
	for _, c := range []struct {
		why  string
		spec v1.PodSpec
		want int
	}{
		{"as much as the least of those that need it", v1.PodSpec{InitContainers: []v1.Container{sidecar("1Gi")}, Containers: []v1.Container{memory("3Gi"), memory("2Gi")}}, 500},
		{"more than they request", v1.PodSpec{InitContainers: []v1.Container{sidecar("3Gi")}, Containers: []v1.Container{memory("2Gi")}}, 250},
		{"and its share", v1.PodSpec{Resources: whole("4Gi"), InitContainers: []v1.Container{sidecar("0")}, Containers: []v1.Container{memory("2Gi")}}, 250},
		{"no container needs it", v1.PodSpec{InitContainers: []v1.Container{sidecar("1Gi")}}, 750},
	} {
		pod := named(func(s *v1.PodSpec) { *s = c.spec })
		got := (&request.Node{MemoryBytes: 4 * gi}).ContainerRequest(request.Container{Pod: pod, Container: &pod.Spec.InitContainers[0], Environment: noEnvironment()})
		assert.Equal(t, c.want, got.Resources.OOMScoreAdj, c.why)
	}
}

// A container without a CPU request has the shares of the CPU limit that applies to it, as with a kubelet.
func TestContainer_SharesOfLimit(t *testing.T) {
	for _, c := range []struct {
		container, whole v1.ResourceRequirements
		want             uint64
	}{
		{v1.ResourceRequirements{}, v1.ResourceRequirements{}, 2},
		{v1.ResourceRequirements{Limits: list("cpu", "500m")}, v1.ResourceRequirements{}, 512},
		{v1.ResourceRequirements{}, v1.ResourceRequirements{Requests: list("cpu", "1"), Limits: list("cpu", "2")}, 2048},
		{v1.ResourceRequirements{Requests: list("memory", "1Gi")}, v1.ResourceRequirements{Limits: list("cpu", "2")}, 2048},
		{v1.ResourceRequirements{Limits: list("cpu", "500m")}, v1.ResourceRequirements{Limits: list("cpu", "2")}, 512},
		{v1.ResourceRequirements{Requests: list("cpu", "0")}, v1.ResourceRequirements{Limits: list("cpu", "2")}, 2},
	} {
		pod := named(func(s *v1.PodSpec) {
			s.Containers, s.Resources = []v1.Container{{Name: "a", Resources: c.container}}, &c.whole
		})
		assert.Equal(t, c.want, asked(&request.Node{}, pod).Resources.CPUShares, "%v in %v", c.container, c.whole)
	}
}

// A sandbox has what all containers take, and the overhead of the pod beside it.
func TestSandbox_Resources(t *testing.T) {
	frame := 100 * time.Millisecond
	limited := v1.Container{Name: "a", Resources: v1.ResourceRequirements{Requests: list("cpu", "500m"), Limits: list("cpu", "1", "memory", "1Gi", "hugepages-2Mi", "2Mi")}}
	for _, c := range []struct {
		spec v1.PodSpec
		want runtime.Resources
		over runtime.Resources
	}{
		{v1.PodSpec{Containers: []v1.Container{limited}, Overhead: list("cpu", "500m", "memory", "1Gi")}, runtime.Resources{
			CPUShares: 512, CPUPeriod: frame, CPUQuota: 100 * time.Millisecond, MemoryBytes: gi, HugePages: map[string]uint64{"2Mi": 2 << 20},
		}, runtime.Resources{CPUShares: 512, CPUPeriod: frame, CPUQuota: 50 * time.Millisecond, MemoryBytes: gi}},
		{v1.PodSpec{Containers: []v1.Container{limited, {Name: "b"}}}, runtime.Resources{CPUShares: 512}, runtime.Resources{}},
		{v1.PodSpec{Containers: []v1.Container{limited, {Name: "b"}}, Resources: &v1.ResourceRequirements{Limits: list("memory", "3Gi")}}, runtime.Resources{CPUShares: 512, MemoryBytes: 3 * gi}, runtime.Resources{}},
	} {
		got, _, err := new(request.Node).SandboxRequest(named(func(s *v1.PodSpec) { *s = c.spec }), runtime.PodRef{}, 0, runtime.DNS{})
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Resources)
		assert.Equal(t, c.over, got.Overhead)
	}
}
