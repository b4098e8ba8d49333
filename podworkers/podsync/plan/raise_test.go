package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// TestDecision_RaisedPod_RZ32: the pod has at least what each running container has, whether a step updates the container
// or not. Cgroup v1 refuses a lower CPU quota, and nothing would start. A limit that a step adds to a container comes
// before the one of the pod (RZ-40).
func TestDecision_RaisedPod_RZ32(t *testing.T) {
	for _, test := range []struct {
		name          string
		lines         [][]string
		ephemeral     time.Duration
		before, after string // the cpu limit of the pod during and after the updates
	}{
		{"updated", [][]string{{"a", "cpu=1/1", "has-cpu=2/2"}, {"b", "cpu=1/2", "has-cpu=1/1"}}, 0, "4", "3"},
		{"not initialized", [][]string{{"not-initialized"}, {"s", "sidecar", "cpu=1/1", "has-cpu=2/2"}, {"i", "init", "cpu=1/1"}, {"a", "cpu=1/1", "none"}}, 0, "3", "2"},
		{"restarted after its startup probe", [][]string{{"s", "sidecar", "cpu=1/1", "has-cpu=2/2", "restart=cpu", "startup"}, {"a", "cpu=1/1"}}, 0, "3", "3"},
		{"cannot update", [][]string{{"unsupported"}, {"a", "cpu=1/1", "has-cpu=2/2"}}, 0, "2", "2"},
		{"limit of the pod", [][]string{{"limits", "cpu=2"}, {"a", "cpu=1/", "has-cpu=1/8"}}, 0, "8", "2"},
		{"limit of the pod, not initialized", [][]string{{"limits", "cpu=2"}, {"not-initialized"}, {"s", "sidecar", "cpu=1/", "has-cpu=1/8"}, {"i", "init", "cpu=1/2"}, {"a", "cpu=1/", "none"}}, 0, "8", "2"},
		{"limit of the pod, init container runs", [][]string{{"limits", "cpu=2"}, {"not-initialized"}, {"i", "init", "cpu=1/", "has-cpu=1/8"}, {"a", "cpu=1/", "none"}}, 0, "8", "2"},
		{"no limit before", [][]string{{"limits", "cpu=2"}, {"a", "cpu=1/", "has-cpu=1/"}}, 0, "0", "2"},
		{"a limit of zero before", [][]string{{"limits", "cpu=2"}, {"a", "cpu=1/", "has-cpu=1/0"}}, 0, "0", "2"},
		{"a limit of zero afterwards", [][]string{{"limits", "cpu=0"}, {"a", "cpu=1/0", "has-cpu=1/2"}}, 0, "0", "0"},
		{"limit of the pod, ephemeral container", [][]string{{"limits", "cpu=2"}, {"a", "cpu=1/2"}}, 400 * time.Millisecond, "4", "4"},
		{"raised", [][]string{{"a", "cpu=1/3", "has-cpu=1/2"}}, 0, "3", "3"},
		{"restarted", [][]string{{"a", "cpu=1/1", "has-cpu=2/2", "restart=cpu"}}, 0, "1", "1"},
		{"equal", [][]string{{"limits", "cpu=2"}, {"a", "cpu=1/2"}}, 0, "2", "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &resizeStory{t: t, supported: true, pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p", Namespace: "ns"}}}
			s.memory.Initialized = "s0"
			s.records = &runtime.PodStatus{UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1, Ready: true}, IPs: []string{"10.0.0.1"}}}}
			for _, words := range test.lines {
				s.runCommand(words)
			}
			if test.ephemeral > 0 {
				s.pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e", Image: "img"}}}
				s.records.Containers = append(s.records.Containers, runtime.ContainerStatus{
					Container: runtime.Container{ID: "e0", Name: "e", SandboxID: "s0", Incarnation: 1, State: runtime.StateRunning}, StartedAt: epoch,
					Resources: &runtime.Resources{CPUShares: 2, CPUPeriod: 100 * time.Millisecond, CPUQuota: test.ephemeral},
				})
			}
			d := plan.Decide(s.pod, s.records, plan.Input{Incarnation: 1, Addresses: true, Resizes: s.supported, Now: epoch.Add(time.Minute), Memory: s.memory, Published: &s.published})
			before := s.pod.DeepCopy()
			for afterUpdates, want := range map[bool]string{false: test.before, true: test.after} {
				limit := podresources.Limits(d.RaisedPod(s.pod, afterUpdates))[v1.ResourceCPU]
				assert.Zero(t, limit.Cmp(resource.MustParse(want)), "after updates %t: %s, want %s", afterUpdates, limit.String(), want)
			}
			assert.Equal(t, before, s.pod)
		})
	}
}

// TestDecision_RaisedPod_DelayedSandbox_RZ32: while the replacement of a sandbox is delayed, the pod keeps what the
// containers have that still run in the sandbox, because no step stops or updates them.
func TestDecision_RaisedPod_DelayedSandbox_RZ32(t *testing.T) {
	s := &resizeStory{t: t, supported: true, pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p", Namespace: "ns"}}}
	s.records = &runtime.PodStatus{UID: "u", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0", Incarnation: 1}}}}
	s.runCommand([]string{"a", "cpu=1/1", "has-cpu=2/2"})
	for delay, want := range map[time.Duration]string{time.Minute: "2", 0: "1"} {
		memory := plan.Memory{}
		if delay > 0 {
			memory = memory.HoldingSandbox(epoch, delay)
		}
		d := plan.Decide(s.pod, s.records, plan.Input{Incarnation: 1, Addresses: true, Resizes: true, Now: epoch, Memory: memory, Published: &s.published})
		assert.Equal(t, delay > 0, len(d.Held) == 1)
		for _, afterUpdates := range []bool{false, true} {
			limit := podresources.Limits(d.RaisedPod(s.pod, afterUpdates))[v1.ResourceCPU]
			assert.Equal(t, want, limit.String(), "delay %s, after updates %t", delay, afterUpdates)
		}
	}
}
