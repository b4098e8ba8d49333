package nodetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

// TestSimulation_FailsTheTestForAModifiedSharedObject: a hook that writes to what it is given
// writes to what the whole node has.
func TestSimulation_FailsTheTestForAModifiedSharedObject(t *testing.T) {
	const ofPod = "nodetest: the shared object of pod default/web was modified"
	for name, c := range map[string]struct {
		modify func(*v1.Pod, *v1.PodStatus)
		want   []string
	}{
		"nothing":      {func(*v1.Pod, *v1.PodStatus) {}, nil},
		"the pod":      {func(p *v1.Pod, _ *v1.PodStatus) { p.Spec.Hostname = "other" }, []string{ofPod}},
		"a container":  {func(p *v1.Pod, _ *v1.PodStatus) { p.Spec.Containers[0].Image = "other" }, []string{ofPod}},
		"its metadata": {func(p *v1.Pod, _ *v1.PodStatus) { p.Annotations["k"] = "v" }, []string{ofPod}},
		"a status": {func(_ *v1.Pod, s *v1.PodStatus) {
			if s.Phase == v1.PodRunning {
				s.Phase = v1.PodFailed
			}
		}, []string{`nodetest: a shared status was modified: phase "Running", now "Failed"`}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := &recording{TB: t}
			b := New(failed, Config{Node: node.Config{Hooks: node.Hooks{Status: c.modify}}})
			p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
			p.UID, p.Name, p.Namespace = "a", "web", "default"
			b.Apply(p)
			b.Run(time.Second)
			b.Stop()
			failed.failures = slices.DeleteFunc(failed.failures, func(f string) bool {
				return !strings.Contains(f, "modified") // What else the modified objects have led to.
			})
			assert.Equal(t, c.want, failed.failures)
		})
	}
}

// Only the last objects are kept, and those before are compared when they make room.
func TestTrace_ComparesWhatItKeepsNoLonger(t *testing.T) {
	failed := &recording{TB: t}
	tr := newTrace(func() time.Time { return Epoch })
	first := &v1.Pod{}
	tr.recordSharedAndCheckWhenFull(first, &v1.PodStatus{})
	first.Name = "other"
	for range maxShared {
		tr.recordSharedAndCheckWhenFull(&v1.Pod{}, &v1.PodStatus{})
		assert.LessOrEqual(t, len(tr.mu.shared.pods)+len(tr.mu.shared.statuses), maxShared)
	}
	tr.faults.reportAndClear(failed)
	assert.Len(t, failed.failures, 1)
}
