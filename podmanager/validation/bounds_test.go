package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// TestValidate_Annotations: all of them together have at most 256 KiB.
func TestValidate_Annotations(t *testing.T) {
	for extra, want := range map[int]string{0: "", 1: "metadata.annotations: Too long: 262145 bytes in all: expected at most 262144"} {
		pod := valid()
		pod.Annotations = map[string]string{"a": strings.Repeat("x", 100), "b": strings.Repeat("y", 256<<10-102+extra)}
		got := ""
		if err := validation.Validate(pod).ToAggregate(); err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got)
	}
}

// TestValidate_ManyErrors: a bad pod of any size has a thousand errors at most.
func TestValidate_ManyErrors(t *testing.T) {
	for n, want := range map[int]int{999: 999, 1000: 1000, 1001: 1000} {
		pod := valid()
		pod.Spec.Containers[0].Env = make([]v1.EnvVar, n)
		assert.Len(t, validation.Validate(pod), want)
		pod = valid()
		pod.Spec.Containers[0].EnvFrom = make([]v1.EnvFromSource, n)
		for i := range pod.Spec.Containers[0].EnvFrom {
			pod.Spec.Containers[0].EnvFrom[i].SecretRef = &v1.SecretEnvSource{}
		}
		assert.Len(t, validation.References(pod, validation.Available{}), want)
	}
}

func valid() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
	validation.Default(pod)
	return pod
}

// TestValidate_WithoutDefaults: what the defaults would have set is an error of its own.
func TestValidate_WithoutDefaults(t *testing.T) {
	var fields []string
	for _, err := range validation.Validate(&v1.Pod{}) {
		fields = append(fields, err.Field)
	}
	assert.Equal(t, []string{"metadata.name", "metadata.namespace", "spec.restartPolicy", "spec.dnsPolicy", "spec.containers"}, fields)
}

// TestValidate_QuantityOutOfRange: a quantity that would take all memory to compare is an
// error, and compared with nothing.
func TestValidate_QuantityOutOfRange(t *testing.T) {
	pod := valid()
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{
		Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")},
		Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1e2000000000")},
	}
	validation.Default(pod)
	assert.EqualError(t, validation.Validate(pod).ToAggregate(), "spec.containers[0].resources.requests[memory]: Invalid value: "+
		"expected a quantity of at most 64 characters, and an exponent of at most two digits")
}
