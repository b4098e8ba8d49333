package validation_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// No pod is no valid pod.
func TestValidate_NoPod(t *testing.T) {
	validation.Default(nil)
	assert.EqualError(t, validation.Validate(nil).ToAggregate(), "spec: Required value: expected a pod")
	assert.Empty(t, validation.References(nil, validation.Available{}))
}

// A pod with thousands of containers is checked in time in proportion to them. Each size
// counts by its fastest run, and there are as many runs as that takes on a busy machine.
func TestValidate_Size(t *testing.T) {
	const few, times = 250, 20
	took := func(pod *v1.Pod) time.Duration {
		began := time.Now()
		assert.Empty(t, validation.Validate(pod))
		return time.Since(began)
	}
	small, large := sized(few), sized(few*times)
	quick, slow := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 300 {
		for range 5 {
			quick = min(quick, took(small))
		}
		if slow = min(slow, took(large)); slow < 8*times*quick {
			return
		}
	}
	require.Fail(t, "not in proportion", "%d times the size took %s instead of %s", times, slow, quick)
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
