package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// TestDiffers: of a container that is killed for what the runtime reports the field is
// named, with what was asked for and what is reported.
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
