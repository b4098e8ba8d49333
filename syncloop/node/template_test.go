package node

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// Pods of one template share their spec; a change of what one of them was applied with, or of
// the template afterwards, reaches no other one.
func TestApply_PodsOfOneTemplateShareTheirSpec(t *testing.T) {
	n, err := New(Config{})
	require.NoError(t, err)
	pod := func(uid, image string) *v1.Pod {
		p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: image, Env: []v1.EnvVar{{Name: "A", Value: "1"}},
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
		}}}}
		p.Name, p.UID = uid, types.UID(uid)
		return p
	}
	prepared := func(p *v1.Pod) *v1.Pod {
		t.Helper()
		own, err := n.host.prepareValidOrKnownPodUnlessStopped(p)
		require.NoError(t, err)
		return own
	}
	given := pod("a", "img:1")
	a := prepared(given)
	b := prepared(pod("b", "img:1"))
	require.Same(t, &a.Spec.Containers[0], &b.Spec.Containers[0])
	assert.NotSame(t, &given.Spec.Containers[0], &a.Spec.Containers[0], "what is given is the caller's")
	assert.Equal(t, types.UID("b"), b.UID)

	given.Spec.Containers[0].Env[0].Value = "2"
	given.UID, given.Name = "c", "c"
	c := prepared(given)
	assert.Equal(t, "2", c.Spec.Containers[0].Env[0].Value)
	assert.Equal(t, "1", a.Spec.Containers[0].Env[0].Value)
	for _, image := range []string{"img:2", "img:3", "img:4", "img:5", "img:1"} {
		assert.Equal(t, image, prepared(pod("d", image)).Spec.Containers[0].Image)
	}
	assert.NotSame(t, &a.Spec.Containers[0], &prepared(pod("e", "img:1")).Spec.Containers[0], "only the last few are known")
}

// A fault of a pod's metadata is found even if its spec is known already.
func TestApply_KnownSpecAndBadMetadata(t *testing.T) {
	n, err := New(Config{})
	require.NoError(t, err)
	for _, pod := range benchPods(2) {
		_, err := n.host.prepareValidOrKnownPodUnlessStopped(pod)
		require.NoError(t, err)
	}
	pod := benchPods(1)[0]
	pod.Name = "No_Name"
	_, err = n.host.prepareValidOrKnownPodUnlessStopped(pod)
	require.ErrorIs(t, err, source.ErrInvalid)
	assert.ErrorContains(t, err, "metadata.name")
	pod = benchPods(1)[0]
	pod.Labels = map[string]string{"k": "no value"}
	_, err = n.host.prepareValidOrKnownPodUnlessStopped(pod)
	require.ErrorContains(t, err, "metadata.labels")
	pod = benchPods(1)[0]
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{AllocatedResources: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1e2000000000")}}}
	_, err = n.host.prepareValidOrKnownPodUnlessStopped(pod)
	require.ErrorContains(t, err, "status.containerStatuses[0].allocatedResources[cpu]")
}
