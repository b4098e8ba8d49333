package podmanager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// An event about a container has the field path of the container.
func TestReference(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "u", ResourceVersion: "7"},
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "i"}}, Containers: []v1.Container{{Name: "a"}},
			EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}},
		},
	}
	for name, place := range map[string]string{"i": "spec.initContainers{i}", "a": "spec.containers{a}", "e": "spec.ephemeralContainers{e}"} {
		assert.Equal(t, &v1.ObjectReference{
			Kind: "Pod", APIVersion: "v1", Namespace: "ns", Name: "web", UID: "u", ResourceVersion: "7", FieldPath: place,
		}, podmanager.Reference(pod, name))
	}
	assert.Same(t, pod, podmanager.Reference(pod, "gone"))
	assert.Same(t, pod, podmanager.Reference(pod, ""))
}
