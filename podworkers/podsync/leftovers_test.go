package podsync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// sandboxTap records the stops and removals of sandboxes. For one sandbox it returns an error.
type sandboxTap struct {
	runtime.Runtime
	log []string
	err error
}

func (s *sandboxTap) StopSandbox(_ context.Context, req runtime.StopSandboxRequest) error {
	s.log = append(s.log, "StopSandbox "+req.SandboxID)
	return s.err
}

func (s *sandboxTap) RemoveSandbox(_ context.Context, req runtime.RemoveSandboxRequest) error {
	s.log = append(s.log, "RemoveSandbox "+req.SandboxID)
	return s.err
}

// CA-1, I37: only the unused older ready sandbox is stopped. If it has exited containers, its records
// stay. If it is empty, because its creation was delayed, it is removed. The pod is not touched.
func TestSyncPod_CA1_I37_OlderSandboxes(t *testing.T) {
	status := func() *runtime.PodStatus {
		box := func(id string, attempt uint32) runtime.SandboxStatus {
			return runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: id, Attempt: attempt, Incarnation: 1, Ready: true}, IPs: []string{"192.0.2.7"}}
		}
		in := func(id, sandbox string, attempt uint32, state runtime.State) runtime.ContainerStatus {
			return runtime.ContainerStatus{Container: runtime.Container{ID: id, Name: "a", SandboxID: sandbox, Attempt: attempt, Incarnation: 1, State: state}}
		}
		return &runtime.PodStatus{
			UID: "u", Sandboxes: []runtime.SandboxStatus{box("current", 2), box("used", 1), box("late", 0)},
			Containers: []runtime.ContainerStatus{in("new", "current", 1, runtime.StateRunning), in("old", "used", 0, runtime.StateExited)},
		}
	}
	rt := &sandboxTap{Runtime: memory.New(memory.Config{})}
	syncer, _ := newQuietSyncer(t, rt)
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, plainPod(), nil, status())
	require.NoError(t, err)
	assert.Equal(t, []string{"StopSandbox used", "RemoveSandbox late"}, rt.log)

	rt.log, rt.err = nil, runtime.ErrNotReady
	_, err = syncer.SyncPod(t.Context(), podworkers.SyncPodSync, plainPod(), nil, status())
	require.ErrorIs(t, err, runtime.ErrNotReady)
	assert.Equal(t, []string{"StopSandbox used"}, rt.log)
}
