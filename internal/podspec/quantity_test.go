package podspec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A text with a bounded length and exponent is parsed, and the quantity is in range. Any other text is rejected without
// parsing.
func TestParseQuantity_Bounds(t *testing.T) {
	for _, text := range []string{
		"0", "1", "250m", "2Gi", "-3Ei", "9E", "1e3", "1E-3", "1e99", "1e-99", "+1e+0000000000012",
		strings.Repeat("9", 64), "0." + strings.Repeat("0", 61) + "1", strings.Repeat("9", 61) + "e99", "-" + strings.Repeat("9", 59) + "e-99",
	} {
		q, err := ParseQuantity(text)
		assert.NoError(t, err, text)
		assert.Empty(t, colonIfTooLarge(q), text)
	}
	for _, text := range []string{
		"1e-2000000000", "1e2000000000", "1E100", "1e-100", "1e+00000100", "0e-2000000000",
		strings.Repeat("9", 65), "0." + strings.Repeat("0", 1<<20),
	} {
		_, err := ParseQuantity(text)
		assert.ErrorIs(t, err, ErrQuantity, text[:min(20, len(text))])
	}
	_, err := ParseQuantity("5 apples")
	assert.Error(t, err)
	assert.NotErrorIs(t, err, ErrQuantity)
}

// A quantity that was made in Go is found anywhere in a pod, and is not compared.
func TestCheckQuantities_EveryField(t *testing.T) {
	huge := resource.MustParse("1e2000000000")
	tiny := *resource.NewScaledQuantity(1, -2_000_000_000)
	list := v1.ResourceList{v1.ResourceMemory: huge}
	for want, change := range map[string]func(*v1.Pod){
		"spec.containers[1].resources.limits[memory]":       func(p *v1.Pod) { p.Spec.Containers[1].Resources.Limits = list },
		"spec.initContainers[0].resources.requests[memory]": func(p *v1.Pod) { p.Spec.InitContainers[0].Resources.Requests = list },
		"spec.overhead[memory]":                             func(p *v1.Pod) { p.Spec.Overhead = list },
		"spec.resources.requests[memory]":                   func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: list} },
		"spec.volumes[0].emptyDir.sizeLimit":                func(p *v1.Pod) { p.Spec.Volumes[0].EmptyDir = &v1.EmptyDirVolumeSource{SizeLimit: &tiny} },
		"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor": func(p *v1.Pod) {
			p.Spec.Containers[0].Env = []v1.EnvVar{{ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Divisor: tiny}}}}
		},
		"status.containerStatuses[0].allocatedResources[memory]": func(p *v1.Pod) {
			p.Status.ContainerStatuses = []v1.ContainerStatus{{AllocatedResources: list}}
		},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: make([]v1.Container, 1), Containers: make([]v1.Container, 2), Volumes: []v1.Volume{{Name: "a"}}}}
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("2Gi")}
		assert.NoError(t, CheckQuantities(pod))
		change(pod)
		err := CheckQuantities(pod)
		assert.ErrorIs(t, err, ErrQuantity)
		assert.EqualError(t, err, want+": "+ErrQuantity.Error())
	}
}

// A claim with an unsafe quantity is a claim of one pod slot.
func TestParseClaim_UnsafeQuantity(t *testing.T) {
	for _, text := range []string{`{"requests":{"cpu":"1e-2000000000"}}`, `{"requests":{"cpu":1e2000000000}}`} {
		assert.Equal(t, ParseClaim(""), ParseClaim(text))
	}
}
