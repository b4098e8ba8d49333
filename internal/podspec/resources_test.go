package podspec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// parseResources parses a list like "cpu=1 memory=2Gi".
func parseResources(text string) v1.ResourceList {
	if text == "" {
		return nil
	}
	l := v1.ResourceList{}
	for _, word := range strings.Fields(text) {
		name, quantity, _ := strings.Cut(word, "=")
		l[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return l
}

// formatResources formats a list in the order of the names.
func formatResources(l v1.ResourceList) string {
	var words []string
	for name, q := range l {
		words = append(words, fmt.Sprintf("%s=%s", name, &q))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func newContainer(requests, limits string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: parseResources(requests), Limits: parseResources(limits)}}
}

func newSidecar(requests, limits string) v1.Container {
	c := newContainer(requests, limits)
	c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	return c
}

// peakUsage returns the most that the containers of a pod need at one time. resourcesOf returns the needs of
// one container. The result is, for each resource, the sum of the regular containers and sidecars, or the need
// of one init container with the sidecars before it, whichever is larger.
func peakUsage(requests, limits string) *v1.ResourceRequirements {
	return &v1.ResourceRequirements{Requests: parseResources(requests), Limits: parseResources(limits)}
}

func TestRequestsAndLimits_AD5(t *testing.T) {
	type c = []v1.Container
	for name, test := range map[string]struct {
		spec             v1.PodSpec
		requests, limits string
	}{
		"nothing": {v1.PodSpec{Containers: c{newContainer("", "")}}, "", ""},
		"regular containers add up": {
			v1.PodSpec{Containers: c{newContainer("cpu=100m memory=1Gi", ""), newContainer("cpu=1", "")}},
			"cpu=1100m memory=1Gi", "",
		},
		"a request left out is the limit": {
			v1.PodSpec{Containers: c{newContainer("cpu=100m", "cpu=1 memory=1Gi example.com/gpu=2")}},
			"cpu=100m example.com/gpu=2 memory=1Gi", "cpu=1 example.com/gpu=2 memory=1Gi",
		},
		"one without a limit has no bound": {
			v1.PodSpec{Containers: c{newContainer("", "cpu=1"), newContainer("cpu=1", "memory=1Gi")}},
			"cpu=2 memory=1Gi", "",
		},
		"init containers run one by one": {
			v1.PodSpec{InitContainers: c{newContainer("cpu=3", "cpu=3"), newContainer("cpu=2", "cpu=2")}, Containers: c{newContainer("cpu=1", "cpu=1")}},
			"cpu=3", "cpu=3",
		},
		"and count where they need the most": {
			v1.PodSpec{InitContainers: c{newContainer("cpu=3 memory=1Mi", "")}, Containers: c{newContainer("cpu=1 memory=1Gi", "")}},
			"cpu=3 memory=1Gi", "",
		},
		"an unlimited init container has no bound": {
			v1.PodSpec{InitContainers: c{newContainer("", "")}, Containers: c{newContainer("", "cpu=1")}},
			"cpu=1", "",
		},
		"sidecars run to the end": {
			v1.PodSpec{InitContainers: c{newSidecar("cpu=1", "cpu=2")}, Containers: c{newContainer("cpu=1", "cpu=1")}},
			"cpu=2", "cpu=3",
		},
		"and count in the steps after them only": {
			v1.PodSpec{InitContainers: c{newContainer("cpu=5", ""), newSidecar("cpu=2", ""), newContainer("cpu=4", "")}, Containers: c{newContainer("cpu=1", "")}},
			"cpu=6", "",
		},
		"a step before the sidecar": {
			v1.PodSpec{InitContainers: c{newContainer("cpu=9", ""), newSidecar("cpu=2", ""), newContainer("cpu=4", "")}, Containers: c{newContainer("cpu=1", "")}},
			"cpu=9", "",
		},
		"the last sidecar beside the first": {
			v1.PodSpec{InitContainers: c{newSidecar("cpu=2", ""), newSidecar("cpu=3", "")}},
			"cpu=5", "",
		},
		"overhead": {
			v1.PodSpec{Containers: c{newContainer("cpu=1", "cpu=1")}, Overhead: parseResources("cpu=250m memory=64Mi")},
			"cpu=1250m memory=64Mi", "cpu=1250m",
		},
		"a limit of zero is none, with overhead too": {
			v1.PodSpec{Containers: c{newContainer("cpu=1", "")}, Resources: peakUsage("", "cpu=0"), Overhead: parseResources("cpu=250m")},
			"cpu=1250m", "cpu=0",
		},
		"the pod as a whole": {
			v1.PodSpec{Containers: c{newContainer("cpu=1 example.com/gpu=1", "")}, Resources: peakUsage("cpu=2 example.com/gpu=7", "cpu=4 memory=1Gi"), Overhead: parseResources("cpu=1")},
			"cpu=3 example.com/gpu=1 memory=1Gi", "cpu=5 memory=1Gi",
		},
		"the pod's limit is no request where containers request": {
			v1.PodSpec{Containers: c{newContainer("cpu=1", "")}, Resources: peakUsage("", "cpu=4 hugepages-2Mi=4Mi")},
			"cpu=1 hugepages-2Mi=4Mi", "cpu=4 hugepages-2Mi=4Mi",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: test.spec}
			before := pod.DeepCopy()
			for range 2 { // A sum must not be kept in what it was made of.
				assert.Equal(t, test.requests, formatResources(podspec.Requests(pod)))
				assert.Equal(t, test.limits, formatResources(podspec.Limits(pod)))
			}
			assert.Equal(t, fmt.Sprint(before), fmt.Sprint(pod))
		})
	}
}

// TestRequests_Huge: quantities beyond 64 bits are summed like any other.
func TestRequests_Huge(t *testing.T) {
	c := newContainer("memory=7Ei", "")
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c, c, c}}}
	got := podspec.Requests(pod)
	assert.Equal(t, 1, got.Memory().Cmp(resource.MustParse("20E")))
	assert.Equal(t, "memory=7Ei", formatResources(podspec.ContainerRequests(&c)))
}
