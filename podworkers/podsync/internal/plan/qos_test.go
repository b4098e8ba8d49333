package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/plan"
)

// TestQOSClass_OfAPodAsAWhole: what the pod says of itself counts, and where it
// only limits, what its containers request does.
func TestQOSClass_OfAPodAsAWhole(t *testing.T) {
	both := func(q string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(q), v1.ResourceMemory: resource.MustParse(q)}
	}
	for name, test := range map[string]struct {
		container, whole v1.ResourceRequirements
		want             v1.PodQOSClass
	}{
		"guaranteed":                   {v1.ResourceRequirements{}, v1.ResourceRequirements{Requests: both("1"), Limits: both("1")}, v1.PodQOSGuaranteed},
		"limits only":                  {v1.ResourceRequirements{}, v1.ResourceRequirements{Limits: both("1")}, v1.PodQOSGuaranteed},
		"limits, containers request":   {v1.ResourceRequirements{Requests: both("500m")}, v1.ResourceRequirements{Limits: both("1")}, v1.PodQOSBurstable},
		"more than containers request": {v1.ResourceRequirements{Requests: both("1"), Limits: both("1")}, v1.ResourceRequirements{Requests: both("1"), Limits: both("2")}, v1.PodQOSBurstable},
		"it says nothing of the two":   {v1.ResourceRequirements{Limits: both("1")}, v1.ResourceRequirements{Limits: v1.ResourceList{"hugepages-2Mi": resource.MustParse("2Mi")}}, v1.PodQOSGuaranteed},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{
				Containers: []v1.Container{{Resources: test.container}}, Resources: &test.whole,
				Overhead: both("1"), // What the sandbox costs makes no difference.
			}}
			assert.Equal(t, test.want, plan.QOSClass(pod))
		})
	}
}
