package podspec_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// podWithAllKinds returns a pod with two containers of each kind.
func podWithAllKinds() *v1.Pod {
	p := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "i"}, {Name: "s", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}},
		Containers:     []v1.Container{{Name: "a"}, {Name: "b", RestartPolicy: new(v1.ContainerRestartPolicyOnFailure)}},
	}}
	for _, name := range []string{"x", "y"} {
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers,
			v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name}})
	}
	return p
}

// upTo are the names of the first n.
func upTo(all iter.Seq[*v1.Container], n int) string {
	names := ""
	for c := range all {
		names += c.Name
		if len(names) == n {
			break
		}
	}
	return names
}

func TestAllContainers_Order(t *testing.T) {
	p := podWithAllKinds()
	for n, want := range []string{1: "i", 2: "is", 3: "isa", 4: "isab", 5: "isab"} {
		if n > 0 {
			assert.Equal(t, want, upTo(podspec.AllContainers(p), n))
		}
	}
	for n, want := range []string{1: "s", 2: "sa", 3: "sab", 4: "sab"} {
		if n > 0 {
			assert.Equal(t, want, upTo(podspec.LongRunningContainers(p), n))
		}
	}
	for n, want := range []string{1: "i", 4: "isab", 5: "isabx", 6: "isabxy", 7: "isabxy"} {
		if want != "" {
			assert.Equal(t, want, upTo(podspec.AllAndEphemeralContainers(p), n))
		}
	}
}

// The result points into the pod and is not a copy.
func TestFindContainer(t *testing.T) {
	p := podWithAllKinds()
	assert.Same(t, &p.Spec.Containers[1], podspec.FindContainer(podspec.AllContainers(p), "b"))
	assert.Nil(t, podspec.FindContainer(podspec.AllContainers(p), "x"))
	assert.Same(t, &p.Spec.EphemeralContainers[1].Name, &podspec.FindContainer(podspec.AllAndEphemeralContainers(p), "y").Name)
	assert.Nil(t, podspec.FindContainer(podspec.AllAndEphemeralContainers(p), "z"))

	assert.Same(t, &p.Spec.InitContainers[1], podspec.InitContainer(p, "s"))
	assert.Nil(t, podspec.InitContainer(p, "a"))
	assert.Same(t, &p.Spec.Containers[0], podspec.RegularContainer(p, "a"))
	assert.Nil(t, podspec.RegularContainer(p, "i"))
}

func TestIsSidecar(t *testing.T) {
	p := podWithAllKinds()
	assert.False(t, podspec.IsSidecar(&p.Spec.InitContainers[0]))
	assert.True(t, podspec.IsSidecar(&p.Spec.InitContainers[1]))
	assert.False(t, podspec.IsSidecar(&p.Spec.Containers[1]), "another policy")
}

// Find returns the first element with a name, for any hint, in short and in long lists.
func TestIndex(t *testing.T) {
	for _, more := range []int{0, 13, 14, 100} {
		list := []v1.ContainerStatus{{Name: "a"}, {Name: "b"}, {Name: "b"}}
		for i := range more {
			list = append(list, v1.ContainerStatus{Name: fmt.Sprint(i)})
		}
		x := podspec.StatusIndex(list)
		for place := range len(list) + 2 {
			want := 1
			if place == 2 {
				want = 2
			}
			assert.Same(t, &list[want], x.Find("b", place), "place %d", place)
			assert.Same(t, &list[len(list)-1], x.Find(list[len(list)-1].Name, len(list)-1))
			assert.Nil(t, x.Find("c", place), "place %d", place)
			assert.Same(t, &list[0], x.Find("a", place), "place %d", place)
		}
	}
}
