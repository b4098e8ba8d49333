package syncloop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// sized returns a pod whose container requests an amount of cpu, as parsePod makes it.
func sized(t *testing.T, cpu string, words ...string) *v1.Pod {
	p := parsePod(t, append([]string{"a"}, words...))
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	return p
}

// TestHandlers_RZ5_ResizeIsInfeasible: a pod of an API server keeps the resources that it was admitted with.
// Its condition reports the resize as infeasible until the old resources are desired again, and one event
// reports it.
func TestHandlers_RZ5_ResizeIsInfeasible(t *testing.T) {
	w := newHarness()
	w.guarded = true
	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{sized(t, "1")})
	w.took()
	stored := func() (cpu string, pending *v1.PodCondition) {
		pod, ok := w.manager.GetPodByUID("a")
		require.True(t, ok)
		return pod.Spec.Containers[0].Resources.Requests.Cpu().String(), podstatus.FindCondition(pod.Status.Conditions, v1.PodResizePending)
	}

	resized := sized(t, "2")
	resized.Generation = 7
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{resized})
	cpu, pending := stored()
	assert.Equal(t, "1", cpu)
	require.NotNil(t, pending)
	assert.Equal(t, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: "Infeasible",
		Message: "this node does not resize pods in place", ObservedGeneration: 7,
	}, *pending)
	assert.Equal(t, []string{
		"Event a Warning ResizeInfeasible: this node does not resize pods in place", "UpdatePod a", "worker of a: update",
	}, w.took())
	assert.Equal(t, "2", resized.Spec.Containers[0].Resources.Requests.Cpu().String(), "the argument is not changed")

	w.handlers.HandlePodReconcile(t.Context(), []*v1.Pod{resized})
	cpu, pending = stored()
	assert.Equal(t, "1", cpu)
	assert.NotNil(t, pending)
	assert.Equal(t, []string{"UpdatePod a"}, w.took(), "said once")

	back := sized(t, "1000m")
	back.Status.Conditions = []v1.PodCondition{*pending, {Type: "foreign"}}
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{back})
	_, pending = stored()
	assert.Nil(t, pending, "also where the server still shows it")

	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{sized(t, "1", "name=f", "source=file")})
	w.handlers.HandlePodUpdates(t.Context(), []*v1.Pod{sized(t, "3", "name=f", "source=file")})
	cpu, _ = stored()
	assert.Equal(t, "3", cpu, "a static pod is what its source says")
}
