package syncloop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// TestRuntimeOnlyPod_Phase: a pod that an earlier agent has left behind is Running if a container runs. A pod
// whose containers have exited may have succeeded, so it is not Running.
func TestRuntimeOnlyPod_Phase(t *testing.T) {
	for _, test := range []struct {
		name       string
		containers []runtime.State
		want       v1.PodPhase
	}{
		{"no container", nil, v1.PodUnknown},
		{"created", []runtime.State{runtime.StateCreated}, v1.PodUnknown},
		{"ended", []runtime.State{runtime.StateExited}, v1.PodUnknown},
		{"the runtime does not know", []runtime.State{runtime.StateUnknown}, v1.PodUnknown},
		{"one of two runs", []runtime.State{runtime.StateExited, runtime.StateRunning}, v1.PodRunning},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &runtime.Pod{Name: "job", Sandboxes: []runtime.Sandbox{{ID: "box"}}}
			for _, state := range test.containers {
				pod.Containers = append(pod.Containers, runtime.Container{Name: "a", State: state})
			}
			assert.Equal(t, test.want, syncloop.Skeleton(pod).Status.Phase)
		})
	}
}

// TestOrphanClaims_ListTheRuntimeAgain: the listing is not kept for a pod with a lastSpec. If it is needed
// after all, the runtime is listed again.
func TestOrphanClaims_ListTheRuntimeAgain(t *testing.T) {
	pod := &v1.Pod{}
	pod.UID = "a"
	w := newHarness()
	w.running = []runtime.Pod{{UID: "b", Name: "other"}, {
		UID: "a", Name: "job", Namespace: "ns", Sandboxes: []runtime.Sandbox{{ID: "box", Ready: true}},
		Containers: []runtime.Container{{Name: "c", State: runtime.StateRunning}},
	}}
	item := w.handlers.TakesOfGiven(pod, func() {})
	assert.Equal(t, "ns/job", item.Namespace+"/"+item.Name)
	assert.True(t, item.RuntimeOnly)
	item = w.handlers.TakesOfGiven(pod, func() { w.running = nil })
	assert.Equal(t, pod.UID, item.UID)
}
