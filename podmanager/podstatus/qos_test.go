package podstatus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// TestQOSClass_OfAPodAsAWhole: the resources of the pod decide. If the pod has limits only, the requests of its
// containers decide.
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
		"it says huge pages only":      {v1.ResourceRequirements{Limits: both("1")}, v1.ResourceRequirements{Limits: v1.ResourceList{"hugepages-2Mi": resource.MustParse("2Mi")}}, v1.PodQOSBestEffort},
		"it requests huge pages only":  {v1.ResourceRequirements{Limits: both("1")}, v1.ResourceRequirements{Requests: v1.ResourceList{"hugepages-1Gi": resource.MustParse("1Gi")}}, v1.PodQOSBestEffort},
		"it says something else":       {v1.ResourceRequirements{Limits: both("1")}, v1.ResourceRequirements{Limits: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}, v1.PodQOSGuaranteed},
		"it says nothing":              {v1.ResourceRequirements{Limits: both("1")}, v1.ResourceRequirements{}, v1.PodQOSGuaranteed},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{
				Containers: []v1.Container{{Resources: test.container}}, Resources: &test.whole,
				Overhead: both("1"), // What the sandbox costs makes no difference.
			}}
			assert.Equal(t, test.want, podstatus.QOSClass(pod))
		})
	}
}

func TestQOSClass_PH15(t *testing.T) {
	quantities := func(requests, limits string) v1.ResourceRequirements {
		parse := func(text string) v1.ResourceList {
			l := v1.ResourceList{}
			for pair := range strings.SplitSeq(text, ",") {
				if name, q, ok := strings.Cut(pair, "="); ok {
					l[v1.ResourceName(name)] = resource.MustParse(q)
				}
			}
			return l
		}
		return v1.ResourceRequirements{Requests: parse(requests), Limits: parse(limits)}
	}
	for name, tc := range map[string]struct {
		init, main v1.ResourceRequirements
		want       v1.PodQOSClass
	}{
		"nothing":           {quantities("", ""), quantities("", ""), v1.PodQOSBestEffort},
		"zero":              {quantities("", ""), quantities("cpu=0", "memory=0"), v1.PodQOSBestEffort},
		"another resource":  {quantities("", ""), quantities("", "ephemeral-storage=1Gi"), v1.PodQOSBestEffort},
		"limits only":       {quantities("", "cpu=1,memory=1Gi"), quantities("", "cpu=1,memory=1Gi"), v1.PodQOSGuaranteed},
		"equal":             {quantities("", "cpu=1,memory=1Gi"), quantities("cpu=1000m", "cpu=1,memory=1Gi"), v1.PodQOSGuaranteed},
		"less requested":    {quantities("", "cpu=1,memory=1Gi"), quantities("cpu=1m", "cpu=1,memory=1Gi"), v1.PodQOSBurstable},
		"requests only":     {quantities("cpu=1,memory=1Gi", ""), quantities("cpu=1,memory=1Gi", ""), v1.PodQOSBurstable},
		"one limit only":    {quantities("", ""), quantities("", "cpu=1"), v1.PodQOSBurstable},
		"init asks nothing": {quantities("", ""), quantities("", "cpu=1,memory=1Gi"), v1.PodQOSBurstable},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{
				InitContainers: []v1.Container{{Resources: tc.init}}, Containers: []v1.Container{{Resources: tc.main}},
			}}
			assert.Equal(t, tc.want, podstatus.QOSClass(pod))
		})
	}
}
