package podsync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// refusing is a store that rejects every status until a container has been stopped, as if these
// statuses could not follow the published one.
type refusing struct {
	*store
	*memory.Runtime
	refuses bool
}

func (r *refusing) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	if !r.refuses {
		r.store.SetPodStatus(pod, status)
	}
}

func (r *refusing) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	r.refuses = false
	return r.Runtime.StopContainer(ctx, req)
}

// ST-6: the change of a PodStatusFunc is not lost if the store rejects the first status that has it.
// After the store has accepted it, the func is not called again.
func TestSyncTerminatingPod_ST6_AmendedAndRefused(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		r := &refusing{Runtime: memory.New(memory.Config{})}
		syncer, st := newQuietSyncer(t, r, func(c *podsync.Config) { c.Status = r })
		r.store = st
		pod := plainPod()
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
		require.NoError(t, err)
		r.refuses = refuses
		said := 0
		err = syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, r), new(int64(1)), func(s *v1.PodStatus) {
			said++
			s.Phase, s.Reason = v1.PodFailed, "Evicted"
		})
		require.NoError(t, err)
		status, _ := st.GetPodStatus("u")
		assert.Equal(t, v1.PodFailed, status.Phase)
		assert.Equal(t, "Evicted", status.Reason)
		assert.Equal(t, map[bool]int{false: 1, true: 2}[refuses], said)
	}
}

// I50: a PodStatusFunc that panics every time changes nothing, and the pod ends all the
// same.
func TestSyncTerminatingPod_I50_PanicOfThePodStatusFunc(t *testing.T) {
	mem := memory.New(memory.Config{})
	var told []string
	syncer, st := newQuietSyncer(t, mem, func(c *podsync.Config) {
		c.Hooks.Panicked = func(call string, err error) { told = append(told, call+": "+err.Error()) }
	})
	pod := plainPod()
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
	require.NoError(t, err)
	err = syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), new(int64(1)), func(s *v1.PodStatus) {
		s.Reason = "half"
		panic("boom")
	})
	require.NoError(t, err)
	assert.False(t, readPodStatus(t, mem).MayRun())
	status, _ := st.GetPodStatus("u")
	assert.Empty(t, status.Reason)
	assert.Equal(t, []string{"PodStatusFunc: PodStatusFunc panicked: boom"}, told)
}
