package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime"
)

// B-006: no status is an empty one.
func TestMayRun_B006(t *testing.T) {
	var none *runtime.PodStatus
	assert.False(t, none.MayRun())
	assert.False(t, (&runtime.PodStatus{Sandboxes: make([]runtime.SandboxStatus, 1)}).MayRun())
	assert.False(t, (&runtime.Pod{Sandboxes: make([]runtime.Sandbox, 1)}).MayRun())
	assert.True(t, (&runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{}, {Sandbox: runtime.Sandbox{Ready: true}}}}).MayRun())
	assert.True(t, (&runtime.Pod{Sandboxes: []runtime.Sandbox{{}, {Ready: true}}}).MayRun())
	for state, want := range map[runtime.State]bool{
		runtime.StateUnknown: true, runtime.StateCreated: false, runtime.StateRunning: true, runtime.StateExited: false,
	} {
		assert.Equal(t, want, state.MayRun(), state)
		last := runtime.PodStatus{Containers: []runtime.ContainerStatus{{Container: runtime.Container{State: runtime.StateExited}}, {Container: runtime.Container{State: state}}}}
		assert.Equal(t, want, last.MayRun(), state)
		seen := runtime.Pod{Containers: []runtime.Container{{State: runtime.StateExited}, {State: state}}}
		assert.Equal(t, want, seen.MayRun(), state)
	}
}
