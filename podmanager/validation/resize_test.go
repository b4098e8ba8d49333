package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resizedPod parses "c cpu=1/2 memory=1Gi/ i* cpu=1/": containers with a request and a limit for each resource. A
// name with a star is an init container, "pod" are the resources of the pod.
func resizedPod(text string) *v1.Pod {
	pod := &v1.Pod{}
	var r *v1.ResourceRequirements
	for _, word := range strings.Fields(text) {
		name, amounts, isResource := strings.Cut(word, "=")
		if !isResource {
			switch bare, init := strings.CutSuffix(name, "*"); {
			case name == "pod":
				pod.Spec.Resources = &v1.ResourceRequirements{}
				r = pod.Spec.Resources
			case init:
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: bare})
				r = &pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1].Resources
			default:
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: bare})
				r = &pod.Spec.Containers[len(pod.Spec.Containers)-1].Resources
			}
			continue
		}
		request, limit, _ := strings.Cut(amounts, "/")
		if request != "" {
			if r.Requests == nil {
				r.Requests = v1.ResourceList{}
			}
			r.Requests[v1.ResourceName(name)] = resource.MustParse(request)
		}
		if limit != "" {
			if r.Limits == nil {
				r.Limits = v1.ResourceList{}
			}
			r.Limits[v1.ResourceName(name)] = resource.MustParse(limit)
		}
	}
	return pod
}

// TestValidateResize_RZ21 has each rule once, and changes that are allowed.
func TestValidateResize_RZ21(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"c cpu=1/2", "c cpu=2/3", ""},
		{"c cpu=1/2", "c cpu=1/2 memory=1Gi/2Gi", ""},
		{"c cpu=1/1 memory=1Gi/1Gi", "c cpu=2/2 memory=3Gi/3Gi", ""},
		{"pod cpu=1/2 c cpu=1/", "pod cpu=2/4 c cpu=1/", ""},
		{"i* cpu=1/ c cpu=1/", "i* cpu=2/ c cpu=1/", ""},
		{"c cpu=1/ ephemeral-storage=1Gi/", "c cpu=1000m/ ephemeral-storage=1024Mi/", ""},
		{"c cpu=1/2", "c cpu=1/", "spec.containers[0].resources.limits[cpu]: Forbidden: a resize cannot remove it"},
		{"c cpu=1/ memory=1Gi/", "c cpu=1/", "spec.containers[0].resources.requests[memory]: Forbidden: a resize cannot remove it"},
		{"c cpu=1/ ephemeral-storage=1Gi/", "c cpu=1/ ephemeral-storage=2Gi/", "spec.containers[0].resources.requests[ephemeral-storage]: Forbidden: only cpu and memory can be resized"},
		{"c cpu=1/", "c cpu=1/ hugepages-2Mi=2Mi/2Mi", "[spec.containers[0].resources.requests[hugepages-2Mi]: Forbidden: only cpu and memory can be resized, spec.containers[0].resources.limits[hugepages-2Mi]: Forbidden: only cpu and memory can be resized]"},
		{"c cpu=1/1 memory=1Gi/1Gi", "c cpu=1/2 memory=1Gi/1Gi", `status.qosClass: Invalid value: "Burstable": the QoS class is Guaranteed, and a resize cannot change it`},
		{"c", "c cpu=1/", `status.qosClass: Invalid value: "Burstable": the QoS class is BestEffort, and a resize cannot change it`},
		{"a cpu=1/ b cpu=1/", "a cpu=1/ c cpu=1/", "spec.containers: Forbidden: a resize cannot add, remove or rename containers"},
		{"i* cpu=1/ c cpu=1/", "c cpu=1/", "spec.initContainers: Forbidden: a resize cannot add, remove or rename containers"},
		{"pod cpu=1/2 c cpu=1/", "c cpu=1/", "[spec.resources.requests[cpu]: Forbidden: a resize cannot remove it, spec.resources.limits[cpu]: Forbidden: a resize cannot remove it]"},
		{"pod cpu=1/2 c cpu=1/2", "pod cpu=1/1 c cpu=1/2", `spec.containers[0].resources.limits[cpu]: Invalid value: "2": expected at most the limit of the pod, 1`},
		{"pod cpu=1/2 c cpu=1/", "pod cpu=1/2 c cpu=2/", `spec.resources.requests[cpu]: Invalid value: "1": expected at least what its containers request, 2`},
		{"pod cpu=1/2 i* cpu=1/2 c cpu=1/", "pod cpu=1/1 i* cpu=1/2 c cpu=1/", ""}, // No limit of an init container is compared.
		{"pod cpu=1/2 c cpu=1/3", "pod cpu=1/2 c cpu=1/4", ""}, // An earlier process has accepted the pod.
	} {
		got := ""
		if err := ValidateResize(resizedPod(c.before), resizedPod(c.after)).ToAggregate(); err != nil {
			got = err.Error()
		}
		assert.Equal(t, c.want, got, "%s -> %s", c.before, c.after)
	}
}
