package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// TestDiffers: if a container is stopped because of a value that the runtime reports, the Difference
// has the field, the requested value and the reported value.
func TestDiffers(t *testing.T) {
	made := plan.Made{Name: "a", SandboxID: "s1", Hash: "v1-1", Attempt: 2, Incarnation: 3}
	rec := func(change func(*runtime.ContainerStatus)) *runtime.ContainerStatus {
		c := &runtime.ContainerStatus{
			Container:   runtime.Container{ID: "id", Name: "a", SandboxID: "s1", Attempt: 2, Incarnation: 3, State: runtime.StateRunning},
			Annotations: map[string]string{plan.HashAnnotation: "v1-1"},
		}
		change(c)
		return c
	}
	for why, c := range map[plan.Why]struct {
		change func(*runtime.ContainerStatus)
		want   plan.Difference
	}{
		plan.WhySpecChanged: {func(c *runtime.ContainerStatus) { c.Annotations[plan.HashAnnotation] = "v1-2" },
			plan.Difference{Field: "Annotations[podkeel.dev/spec-hash]", Wanted: "v1-1", Seen: "v1-2"}},
		plan.WhyUnknownState: {func(c *runtime.ContainerStatus) { c.State = runtime.StateUnknown },
			plan.Difference{Field: "State", Wanted: "running", Seen: "unknown"}},
		plan.WhyOtherSandbox: {func(c *runtime.ContainerStatus) { c.SandboxID = "s2" },
			plan.Difference{Field: "SandboxID", Wanted: "s1", Seen: "s2"}},
		plan.WhyOlderAttempt: {func(c *runtime.ContainerStatus) { c.Attempt = 1 },
			plan.Difference{Field: "Attempt", Wanted: "2", Seen: "1"}},
		plan.WhyPreviousIncarnation: {func(c *runtime.ContainerStatus) { c.Incarnation = 0 },
			plan.Difference{Field: "Incarnation", Wanted: "3", Seen: "0"}},
		plan.WhyNotInSpec: {func(c *runtime.ContainerStatus) { c.Name = "b" },
			plan.Difference{Field: "Name", Wanted: "a", Seen: "b"}},
	} {
		d, ok := plan.Differs(why, made, rec(c.change))
		assert.True(t, ok, why)
		assert.Equal(t, c.want, d, why)
		_, ok = plan.Differs(why, made, rec(func(*runtime.ContainerStatus) {}))
		assert.False(t, ok, "%s: it is as it was made", why)
	}
	_, ok := plan.Differs(plan.WhyLiveness, made, rec(func(*runtime.ContainerStatus) {}))
	assert.False(t, ok)
}

// TestSandboxDiffers is the same of a sandbox.
func TestSandboxDiffers(t *testing.T) {
	pod := &v1.Pod{}
	made := &runtime.SandboxStatus{Sandbox: runtime.Sandbox{Incarnation: 1}, HostNetwork: true}
	for why, want := range map[plan.Why]plan.Difference{
		plan.WhyNetworkMode:     {Field: "HostNetwork", Wanted: "false", Seen: "true"},
		plan.WhyNoAddress:       {Field: "IPs", Wanted: "an address", Seen: "none"},
		plan.WhySandboxNotReady: {Field: "Ready", Wanted: "true", Seen: "false"},
		plan.WhyNoSandbox:       {Field: "Incarnation", Wanted: "2", Seen: "1"},
	} {
		d, ok := plan.SandboxDiffers(why, pod, 2, made)
		assert.True(t, ok, why)
		assert.Equal(t, want, d, why)
	}
	d, ok := plan.SandboxDiffers(plan.WhyNoSandbox, pod, 2, nil)
	assert.True(t, ok)
	assert.Equal(t, plan.Difference{Field: "Sandboxes", Wanted: "the sandbox", Seen: "none"}, d)
	_, ok = plan.SandboxDiffers(plan.WhySeveralSandboxes, pod, 2, made)
	assert.False(t, ok)
	_, ok = plan.SandboxDiffers("", pod, 2, made)
	assert.False(t, ok)
}

// Contradictions covers containers that this process has created. It leaves out containers that the
// spec has removed or changed.
func TestContradictions(t *testing.T) {
	c := v1.Container{Name: "a", Image: "img"}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}}}
	start := plan.Step{Op: plan.StartContainer, Name: "a", Container: &c, SandboxID: "s1"}
	other := start
	other.Container = &v1.Container{Name: "a", Image: "other"}
	seen := &runtime.PodStatus{Containers: []runtime.ContainerStatus{
		{Container: runtime.Container{ID: "a0", Name: "b", SandboxID: "s1", State: runtime.StateRunning}, Annotations: map[string]string{plan.HashAnnotation: "v1-2"}},
		{Container: runtime.Container{ID: "x0", Name: "x"}},
	}}
	created := plan.Memory{}.Created(plan.Made{Name: "a", SandboxID: "s1", Hash: plan.SpecHash(&c)})
	made := created.RecordStage(start, plan.StageCreated, "a0", epoch)
	stop := func(why plan.Why) []plan.Step {
		return []plan.Step{{Op: plan.StopContainer, ID: "x0", Reason: why}, {Op: plan.StopContainer, ID: "a0", Reason: why}}
	}
	of := func(m plan.Memory, steps []plan.Step) []plan.Difference {
		d := plan.Decision{Steps: steps, Memory: m}
		return d.Contradictions(pod, seen, 0)
	}
	name := []plan.Difference{{Field: "Name", Wanted: "a", Seen: "b", Container: "a"}}
	assert.Equal(t, name, of(made, stop(plan.WhyNotInSpec)))
	assert.Empty(t, of(made, stop(plan.WhyOtherSandbox)), "it is in the sandbox that it was made in")
	assert.Empty(t, of(plan.Memory{}, stop(plan.WhyNotInSpec)), "not made here")
	assert.Empty(t, of(created, stop(plan.WhyNotInSpec)), "never started")
	assert.Empty(t, of(made.RecordStage(start, plan.StageCreated, "a1", epoch), stop(plan.WhyNotInSpec)), "there is a newer one")
	assert.Empty(t, of(made, []plan.Step{{Op: plan.RemoveContainer, ID: "a0", Reason: plan.WhyNotInSpec}}))
	assert.Len(t, of(made, stop(plan.WhySpecChanged)), 1)
	assert.Empty(t, of(plan.Memory{}.RecordStage(other, plan.StageCreated, "a0", epoch), stop(plan.WhySpecChanged)), "the pod has changed")
	pod.Spec.Containers, pod.Spec.EphemeralContainers = nil, []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon(c)}}
	assert.Empty(t, of(made, stop(plan.WhySpecChanged)), "it is none of the lasting containers")
}

// A sandbox that died is replaced once without a word; one that is never as it was asked
// for is a contradiction.
func TestContradictions_Sandbox(t *testing.T) {
	create := func(why plan.Why) plan.Step { return plan.Step{Op: plan.CreateSandbox, Reason: why} }
	made := plan.Memory{}.RecordStage(create(""), plan.StageCreated, "s1", epoch)
	again := made.RecordAttempt(create(""), epoch)
	shows := func(id string) *runtime.PodStatus {
		return &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s0"}}, {Sandbox: runtime.Sandbox{ID: id}, HostNetwork: true}}}
	}
	for _, c := range []struct {
		memory plan.Memory
		seen   *runtime.PodStatus
		why    plan.Why
		field  string
	}{
		{plan.Memory{}, shows("s1"), plan.WhyNetworkMode, ""}, // The newest is as it was asked for.
		{made, shows("s1"), plan.WhyNetworkMode, "HostNetwork"},
		{plan.Memory{}, shows("s1"), plan.WhyNoAddress, "IPs"},
		{made, nil, plan.WhyNoAddress, ""},
		{made, &runtime.PodStatus{}, plan.WhyNoAddress, ""},
		{made, shows("s1"), plan.WhySandboxNotReady, ""},
		{again, shows("s1"), plan.WhySandboxNotReady, "Ready"},
		{plan.Memory{}, shows("s1"), plan.WhySandboxNotReady, ""},
		{made, shows("s1"), plan.WhyNoSandbox, "Incarnation"},
		{made, shows("other"), plan.WhyNoSandbox, ""},
		{again, shows("other"), plan.WhyNoSandbox, "Sandboxes"},
		{again, shows("s1"), plan.WhySeveralSandboxes, ""},
	} {
		for _, steps := range [][]plan.Step{{create(c.why)}, {{Op: plan.StopPod, Reason: c.why}, create("")}} {
			d := plan.Decision{Steps: steps, Memory: c.memory}
			var fields []string
			for _, diff := range d.Contradictions(&v1.Pod{}, c.seen, 1) {
				fields = append(fields, diff.Field)
			}
			if c.field == "" {
				assert.Empty(t, fields, "%v", c)
			} else {
				assert.Equal(t, []string{c.field}, fields, "%v", c)
			}
		}
	}
	assert.Empty(t, new(plan.Decision).Contradictions(nil, nil, 0))
}
