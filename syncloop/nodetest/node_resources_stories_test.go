package nodetest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/memory"
)

// podWithInheritedLimit returns a pod with two containers that each use an amount of memory. The pod has limits of its own, which
// the container b inherits.
func podWithInheritedLimit(generation int64, cpu, memoryLimit, use string) *v1.Pod {
	p := podOf("p1", "run=forever")
	p.Generation = generation
	limits := func(cpu, memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	requests := limits("100m", "10Mi")
	p.Spec.Containers = []v1.Container{
		{Name: "a", Image: "a:1", Resources: v1.ResourceRequirements{Requests: requests.DeepCopy(), Limits: limits("100m", "100Mi")}},
		{Name: "b", Image: "a:1", Resources: v1.ResourceRequirements{Requests: requests.DeepCopy()}},
	}
	p.Spec.Resources = &v1.ResourceRequirements{Requests: limits("200m", "20Mi"), Limits: limits(cpu, memoryLimit)}
	p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=forever memory=" + use, memory.AnnotationPrefix + "b": "run=forever memory=" + use}
	return p
}

// On cgroup v1 the node lowers the quota of a container and the quota of its pod in one step, and the kernel accepts
// both.
func TestNodeResourcesLowersQuotasInOneStep(t *testing.T) {
	h := newResourceHistory(t, 0) // cgroup v1
	h.applyPod(podWithInheritedLimit(1, "800m", "400Mi", "10Mi"))
	h.runFor(5 * time.Second)
	h.applyPod(podWithInheritedLimit(2, "400m", "400Mi", "10Mi"))
	h.runFor(time.Minute)
	h.checkFinal()
	h.requireNoFault()
	assert.Equal(t, limits{40_000, 400 * mebi}, h.machine.podLimits("p1"))
	h.b.Stop()
}

// On cgroup v1 the kernel keeps the limit of a pod that uses more than the new one. The resize stays in progress, and the
// final check accepts that.
func TestNodeResourcesKeepsLimitInUse(t *testing.T) {
	h := newResourceHistory(t, 0) // cgroup v1
	h.applyPod(podWithInheritedLimit(1, "800m", "400Mi", "90Mi"))
	h.runFor(5 * time.Second)
	h.applyPod(podWithInheritedLimit(2, "800m", "150Mi", "90Mi"))
	h.runFor(time.Minute)
	h.checkFinal()
	h.requireNoFault()
	assert.Equal(t, limits{80_000, 400 * mebi}, h.machine.podLimits("p1"))
	h.b.Stop()
}

// A history fails if the kernel rejects a value. Events have the error without the name of its package.
func TestNodeResourcesNoticesRejectedValue(t *testing.T) {
	h := newResourceHistory(t, 0)
	evictionRecorder{history: h}.checkNotRejected("The cgroup of the pod cannot be set up: value rejected: cannot write 1")
	assert.Equal(t, []string{"at 0s: the kernel rejects a value: The cgroup of the pod cannot be set up: value rejected: cannot write 1"}, h.faultList)
	assert.Equal(t, "cgroups: "+rejected, cgroups.ErrRejected.Error())
	h.b.Stop()
}

// A container without a limit is within its pod. A container with a higher limit is not.
func TestNodeResourcesAcceptsContainerWithoutLimit(t *testing.T) {
	pod := limits{quota: 50_000, memory: 50 * mebi}
	assert.True(t, limits{math.MaxInt64, math.MaxInt64}.withinPod(pod))
	assert.True(t, limits{50_000, math.MaxInt64}.withinPod(pod))
	assert.True(t, limits{math.MaxInt64, 50 * mebi}.withinPod(pod))
	assert.False(t, limits{50_001, math.MaxInt64}.withinPod(pod))
	assert.False(t, limits{math.MaxInt64, 51 * mebi}.withinPod(pod))
}
