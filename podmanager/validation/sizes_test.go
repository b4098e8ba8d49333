package validation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/proportion"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// No pod is no valid pod.
func TestValidate_NoPod(t *testing.T) {
	validation.Default(nil)
	assert.EqualError(t, validation.Validate(nil).ToAggregate(), "spec: Required value: expected a pod")
	assert.Empty(t, validation.References(nil, validation.Available{}))
}

// A pod with thousands of containers is checked in time in proportion to them.
func TestValidate_Size(t *testing.T) {
	const few, times = 250, 20
	work := func(n int) func() {
		pod := sized(n)
		return func() { assert.Empty(t, validation.Validate(pod)) }
	}
	proportion.Check(t, work(few), work(few*times), times)
}

// sized is a valid pod with n containers of each kind, each with a volume, a port of the host
// and a target.
func sized(n int) *v1.Pod {
	pod := &v1.Pod{}
	pod.Name = "p"
	s := &pod.Spec
	for i := range n {
		name := func(kind string) string { return fmt.Sprint(kind, i) }
		s.Volumes = append(s.Volumes, v1.Volume{Name: name("v")})
		s.InitContainers = append(s.InitContainers, v1.Container{Name: name("i"), Image: "img"})
		s.Containers = append(s.Containers, v1.Container{
			Name: name("c"), Image: "img", VolumeMounts: []v1.VolumeMount{{Name: name("v"), MountPath: "/v"}},
			Ports: []v1.ContainerPort{{ContainerPort: int32(i + 1), HostPort: int32(i + 1)}},
		})
		e := v1.EphemeralContainerCommon{Name: name("e"), Image: "img"}
		s.EphemeralContainers = append(s.EphemeralContainers, v1.EphemeralContainer{TargetContainerName: name("c"), EphemeralContainerCommon: e})
	}
	validation.Default(pod)
	return pod
}
