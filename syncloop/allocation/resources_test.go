package allocation

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// memoryRequirements returns a request and a limit of memory; "" is none.
func memoryRequirements(request, limit string) v1.ResourceRequirements {
	var r v1.ResourceRequirements
	if request != "" {
		r.Requests = v1.ResourceList{"memory": resource.MustParse(request)}
	}
	if limit != "" {
		r.Limits = v1.ResourceList{"memory": resource.MustParse(limit)}
	}
	return r
}

// resizedPod returns a pod with an init container and a container.
func resizedPod(init, c v1.ResourceRequirements, own *v1.ResourceRequirements) *v1.Pod {
	pod := &v1.Pod{}
	pod.Spec.InitContainers = []v1.Container{{Name: "i", Resources: init}}
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: c}}
	pod.Spec.Resources = own
	return pod
}

// TestPodResources_RZ17_ApplyTo: the resources of the pod, its init containers and its containers are replaced in a
// copy. Equal amounts in other units are equal.
func TestPodResources_RZ17_ApplyTo(t *testing.T) {
	own := memoryRequirements("3Gi", "4Gi")
	allocated := resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", "2Gi"), &own)
	same := resizedPod(memoryRequirements("1024Mi", ""), memoryRequirements("1Gi", "2048Mi"), &own)
	got, differed := PodResourcesOf(allocated).ApplyTo(same)
	assert.False(t, differed)
	assert.Same(t, same, got)
	assert.True(t, SameResources(allocated, same))

	other := memoryRequirements("5Gi", "5Gi")
	for _, desired := range []*v1.Pod{
		resizedPod(memoryRequirements("2Gi", ""), memoryRequirements("1Gi", "2Gi"), &own),
		resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", "3Gi"), &own),
		resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", ""), &own),
		resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", "2Gi"), &other),
		resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", "2Gi"), nil),
	} {
		before := desired.DeepCopy()
		got, differed := PodResourcesOf(allocated).ApplyTo(desired)
		assert.True(t, differed)
		assert.True(t, SameResources(allocated, got))
		assert.Equal(t, before, desired, "the argument is not changed")
	}
}

// TestPodResources_RZ18_Absent: a pod without resources of its own stays so, and a container that the saved
// resources do not have keeps the resources of its spec.
func TestPodResources_RZ18_Absent(t *testing.T) {
	own := memoryRequirements("3Gi", "")
	got, differed := PodResourcesOf(resizedPod(memoryRequirements("", ""), memoryRequirements("1Gi", ""), nil)).ApplyTo(resizedPod(memoryRequirements("", ""), memoryRequirements("1Gi", ""), &own))
	assert.True(t, differed)
	assert.Nil(t, got.Spec.Resources)

	saved := PodResources{Containers: map[string]v1.ResourceRequirements{"c": memoryRequirements("1Gi", "")}}
	got, differed = saved.ApplyTo(resizedPod(memoryRequirements("7Gi", ""), memoryRequirements("2Gi", ""), nil))
	assert.True(t, differed)
	assert.Equal(t, "7Gi", got.Spec.InitContainers[0].Resources.Requests.Memory().String())
	assert.Equal(t, "1Gi", got.Spec.Containers[0].Resources.Requests.Memory().String())
}

// TestPodResources_JSON: the resources survive the checkpoint.
func TestPodResources_JSON(t *testing.T) {
	own := memoryRequirements("3Gi", "4Gi")
	pod := resizedPod(memoryRequirements("1Gi", ""), memoryRequirements("1Gi", "2Gi"), &own)
	pod.Generation = 4
	text, err := json.Marshal(PodResourcesOf(pod))
	require.NoError(t, err)
	var read PodResources
	require.NoError(t, json.Unmarshal(text, &read))
	_, differed := read.ApplyTo(pod)
	assert.False(t, differed)
	assert.Equal(t, int64(4), read.Generation)
}
