package podspec_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helpers "k8s.io/component-helpers/resource"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/podspec"
)

// drawList draws amounts of some of the resources.
func drawList(t *rapid.T, label string, resources ...v1.ResourceName) v1.ResourceList {
	l := v1.ResourceList{}
	for _, name := range resources {
		if n := rapid.IntRange(-1, 4).Draw(t, label+" "+string(name)); n >= 0 {
			l[name] = *resource.NewMilliQuantity(int64(n)*500, resource.DecimalSI)
		}
	}
	return l
}

// drawPod returns a random pod with the defaults of the API: each limited resource has a request.
func drawPod(t *rapid.T) *v1.Pod {
	all := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "hugepages-2Mi", "example.com/gpu"}
	draw := func(label string, restart bool) v1.Container {
		c := v1.Container{Resources: v1.ResourceRequirements{Requests: drawList(t, label, all...), Limits: drawList(t, label+" limit", all...)}}
		for name, q := range c.Resources.Limits {
			if _, ok := c.Resources.Requests[name]; !ok {
				c.Resources.Requests[name] = q
			}
		}
		if restart && rapid.Bool().Draw(t, label+" is a sidecar") {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		return c
	}
	pod := &v1.Pod{}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		pod.Spec.Containers = append(pod.Spec.Containers, draw(fmt.Sprint("container ", i), false))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "init containers") {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, draw(fmt.Sprint("init ", i), true))
	}
	if rapid.Bool().Draw(t, "pod level") {
		r := &v1.ResourceRequirements{Requests: drawList(t, "pod", all...), Limits: drawList(t, "pod limit", all...)}
		for name, q := range r.Limits {
			if _, ok := r.Requests[name]; !ok && podspec.IsPodLevelResource(name) {
				if _, ok := podspec.Requests(pod)[name]; !ok {
					r.Requests[name] = q // As the API server does, unless the containers say it.
				}
			}
		}
		pod.Spec.Resources = r
	}
	if rapid.Bool().Draw(t, "overhead") {
		pod.Spec.Overhead = drawList(t, "overhead", v1.ResourceCPU, v1.ResourceMemory)
	}
	return pod
}

// TestRequests_Helpers: requests and limits equal the results of k8s.io/component-helpers, which the scheduler uses. A
// resource that a container may use without limit has no limit here, which component-helpers does not support.
func TestRequests_Helpers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := drawPod(t)
		assert.Equal(t, formatResources(helpers.PodRequests(pod, helpers.PodResourcesOptions{})), formatResources(podspec.Requests(pod)))
		limits, theirs := podspec.Limits(pod), helpers.PodLimits(pod, helpers.PodResourcesOptions{})
		for name, q := range limits {
			want := theirs[name]
			assert.Zero(t, q.Cmp(want), "%s is limited to %v, not to %v", name, &want, &q)
		}
		for name := range theirs {
			if _, ok := limits[name]; ok {
				continue
			}
			free := 0
			for c := range podspec.AllContainers(pod) {
				if q, ok := c.Resources.Limits[name]; !ok || q.IsZero() {
					free++
				}
			}
			assert.NotZero(t, free, "every container limits %s", name)
		}
		sum, _ := podspec.SumResources(&pod.Spec)
		assert.Equal(t, formatResources(helpers.AggregateContainerRequests(pod, helpers.PodResourcesOptions{})), formatResources(sum))
	})
}

// TestMatches_Helpers: node affinity selects a node as k8s.io/component-helpers does, and what one does not
// understand the other does not either.
func TestMatches_Helpers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "1", "2", "", "n1", "a b"})
		values := rapid.SliceOfN(word, 0, 2)
		operator := rapid.SampledFrom([]v1.NodeSelectorOperator{
			v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt, "Near", "",
		})
		requirements := func(label string, keys ...string) []v1.NodeSelectorRequirement {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1.NodeSelectorRequirement {
				return v1.NodeSelectorRequirement{
					Key: rapid.SampledFrom(keys).Draw(t, "key"), Operator: operator.Draw(t, "operator"), Values: values.Draw(t, "values"),
				}
			}), 0, 2).Draw(t, label)
		}
		var terms []v1.NodeSelectorTerm
		for i := range rapid.IntRange(0, 3).Draw(t, "terms") {
			terms = append(terms, v1.NodeSelectorTerm{
				MatchExpressions: requirements(fmt.Sprint("expressions ", i), "zone", "size", "bad key"),
				MatchFields:      requirements(fmt.Sprint("fields ", i), "metadata.name"),
			})
		}
		node := podspec.Node{Name: rapid.SampledFrom([]string{"a", "n1"}).Draw(t, "name"), Labels: rapid.MapOf(rapid.SampledFrom([]string{"zone", "size"}), word).Draw(t, "labels")}
		want, wantErr := corev1.MatchNodeSelectorTerms(
			&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}}, &v1.NodeSelector{NodeSelectorTerms: terms})
		got, err := node.Matches(terms)
		assert.Equal(t, want, got)
		assert.Equal(t, wantErr != nil, err != nil, "%v, here %v", wantErr, err)
	})
}
