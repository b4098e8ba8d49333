package podresources_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

const gi = 1 << 30

// memory is a container with a memory request.
func memory(q string) v1.Container { return container("memory="+q, "") }

// A node critical pod has -997 whatever its class: static or mirror or of a high priority, and of the class (QR-17).
func TestOOMScoreAdj_QR17(t *testing.T) {
	pod := func(source string, priority int32, class string) *v1.Pod {
		p := &v1.Pod{Spec: v1.PodSpec{Priority: &priority, PriorityClassName: class, Containers: []v1.Container{container("", "")}}}
		if source != "" {
			p.Annotations = map[string]string{"kubernetes.io/config.source": source}
		}
		return p
	}
	mirror := pod("api", 0, "system-node-critical")
	mirror.Annotations["kubernetes.io/config.mirror"] = "hash"
	for _, c := range []struct {
		why  string
		pod  *v1.Pod
		want int
	}{
		{"priority and class", pod("", 2_000_001_000, "system-node-critical"), -997},
		{"the lowest critical priority", pod("api", 2_000_000_000, "system-node-critical"), -997},
		{"less priority", pod("", 1_999_999_999, "system-node-critical"), 1000},
		{"another class", pod("", 2_000_000_000, "system-cluster-critical"), 1000},
		{"a static pod of the class", pod("file", 0, "system-node-critical"), -997},
		{"a static pod of no class", pod("file", 0, ""), 1000},
		{"a mirror pod", mirror, -997},
		{"no priority", &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container("", "")}}}, 1000},
	} {
		assert.Equal(t, c.want, podresources.OOMScoreAdj(c.pod, &c.pod.Spec.Containers[0], 4*gi), c.why)
	}
}

// The score of a Burstable container falls with its part of the memory (QR-18), within bounds (QR-20). A node without
// memory divides nothing by zero (QR-21).
func TestOOMScoreAdj_QR18_QR20_QR21(t *testing.T) {
	whole := func(q string) *v1.ResourceRequirements { return new(requirements("memory="+q, "")) }
	cpuOnly := container("cpu=1", "")
	for _, c := range []struct {
		why  string
		node uint64
		spec v1.PodSpec
		want int
	}{
		{"best effort", 4 * gi, v1.PodSpec{Containers: []v1.Container{container("", "")}}, 1000},
		{"guaranteed", 4 * gi, v1.PodSpec{Containers: []v1.Container{container("", "cpu=1 memory=1Gi")}}, -997},
		{"a quarter", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("1Gi")}}, 750},
		{"rounded down", 3000, v1.PodSpec{Containers: []v1.Container{memory("1001")}}, 667},
		{"a limit is a request", 4 * gi, v1.PodSpec{Containers: []v1.Container{container("", "memory=1Gi")}}, 750},
		{"no memory of the node", 0, v1.PodSpec{Containers: []v1.Container{memory("1Gi")}}, 999},
		{"no request", 4 * gi, v1.PodSpec{Containers: []v1.Container{cpuOnly}}, 999},
		{"a negative request", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("-1Gi")}}, 999},
		{"all", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("4Gi")}}, 3},
		{"more than all", 4 * gi, v1.PodSpec{Containers: []v1.Container{memory("8Gi")}}, 3},
		{"nearly all", 1000, v1.PodSpec{Containers: []v1.Container{memory("996")}}, 4},
		{"huge", math.MaxUint64, v1.PodSpec{Containers: []v1.Container{memory("8Ei")}}, 501},
		{"the rest of the pod in equal parts", 4 * gi, v1.PodSpec{Resources: whole("2Gi"), Containers: []v1.Container{cpuOnly, cpuOnly}}, 750},
		{"the rest beyond the containers", 4 * gi, v1.PodSpec{Resources: whole("3Gi"), Containers: []v1.Container{memory("1Gi"), cpuOnly}}, 500},
		{"init containers have a part too", 4 * gi, v1.PodSpec{Resources: whole("4Gi"), InitContainers: []v1.Container{sidecar("memory=1Gi", ""), memory("0")}, Containers: []v1.Container{cpuOnly}}, 750},
		{"the largest init step is subtracted", 4 * gi, v1.PodSpec{Resources: whole("3Gi"), InitContainers: []v1.Container{memory("3Gi")}, Containers: []v1.Container{cpuOnly}}, 999},
		{"no rest", 4 * gi, v1.PodSpec{Resources: whole("1Gi"), Containers: []v1.Container{memory("2Gi")}}, 500},
		{"the pod level has cpu only", 4 * gi, v1.PodSpec{Resources: new(requirements("cpu=1", "")), Containers: []v1.Container{memory("2Gi")}}, 500},
		{"the pod level has a limit only", 4 * gi, v1.PodSpec{Resources: new(requirements("", "memory=4Gi")), Containers: []v1.Container{memory("2Gi")}}, 500},
	} {
		pod := &v1.Pod{Spec: c.spec}
		assert.Equal(t, c.want, podresources.OOMScoreAdj(pod, &pod.Spec.Containers[0], c.node), c.why)
	}
}

// A sidecar has no higher score than the regular container with the smallest request (QR-19).
func TestOOMScoreAdj_QR19_Sidecar(t *testing.T) {
	for _, c := range []struct {
		why  string
		spec v1.PodSpec
		want int
	}{
		{"the smallest of the regular ones", v1.PodSpec{InitContainers: []v1.Container{sidecar("memory=1Gi", "")}, Containers: []v1.Container{memory("3Gi"), memory("2Gi")}}, 500},
		{"its own request is larger", v1.PodSpec{InitContainers: []v1.Container{sidecar("memory=3Gi", "")}, Containers: []v1.Container{memory("2Gi")}}, 250},
		{"and its part of the rest", v1.PodSpec{Resources: new(requirements("memory=4Gi", "")), InitContainers: []v1.Container{sidecar("memory=0", "")}, Containers: []v1.Container{memory("2Gi")}}, 250},
		{"no regular container", v1.PodSpec{InitContainers: []v1.Container{sidecar("memory=1Gi", "")}}, 750},
		{"not a sidecar", v1.PodSpec{InitContainers: []v1.Container{memory("1Gi")}, Containers: []v1.Container{memory("2Gi")}}, 750},
	} {
		pod := &v1.Pod{Spec: c.spec}
		assert.Equal(t, c.want, podresources.OOMScoreAdj(pod, &pod.Spec.InitContainers[0], 4*gi), c.why)
	}
}

// Each score is one of the allowed ones, and a container that requests more never has a higher score.
func TestOOMScoreAdj_Bounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := drawPod(t)
		node := rapid.Uint64Range(0, 4).Draw(t, "memory of the node")
		c := &pod.Spec.Containers[0]
		score := podresources.OOMScoreAdj(pod, c, node)
		assert.True(t, score == -997 || score == 1000 || 3 <= score && score <= 999, score)
		if podresources.QOSClass(pod) != v1.PodQOSBurstable || pod.Spec.Resources != nil {
			return
		}
		q := c.Resources.Requests[v1.ResourceMemory]
		q.Add(q)
		c.Resources.Requests[v1.ResourceMemory] = q
		if podresources.QOSClass(pod) == v1.PodQOSBurstable {
			assert.LessOrEqual(t, podresources.OOMScoreAdj(pod, c, node), score)
		}
	})
}
