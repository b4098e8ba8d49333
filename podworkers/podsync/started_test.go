package podsync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// forgetful is a runtime that loses the record of the next started container. The start returns err, if
// it is set.
type forgetful struct {
	*memory.Runtime
	err    error
	starts int
}

func (f *forgetful) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	f.starts++
	if errors.Is(f.err, runtime.ErrNotFound) {
		return errors.Join(f.LoseContainer(req.ContainerID), f.err)
	}
	return errors.Join(f.Runtime.StartContainer(ctx, req), f.LoseContainer(req.ContainerID), f.err)
}

// I37, F67: the record of a container is lost before its start was published. A container that may have
// run counts as exited: under Never it does not start again, and under any other policy the next start
// is a restart. A container that cannot have run is started.
func TestSyncPod_I37_F67_StartedAndLost(t *testing.T) {
	for name, tc := range map[string]struct {
		policy   v1.RestartPolicy
		err      error
		starts   int
		phase    v1.PodPhase
		restarts int32
	}{
		"started":              {v1.RestartPolicyNever, nil, 1, v1.PodFailed, 0},
		"unknown":              {v1.RestartPolicyNever, errors.New("the reply was lost"), 1, v1.PodFailed, 0},
		"not started":          {v1.RestartPolicyNever, runtime.ErrNotFound, 2, v1.PodPending, 0},
		"started, and again":   {v1.RestartPolicyOnFailure, nil, 2, v1.PodRunning, 1},
		"unknown: again":       {v1.RestartPolicyAlways, errors.New("the reply was lost"), 2, v1.PodRunning, 1},
		"not started, forever": {v1.RestartPolicyAlways, runtime.ErrNotFound, 2, v1.PodPending, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rt := &forgetful{Runtime: memory.New(memory.Config{}), err: tc.err}
			syncer, st := newQuietSyncer(t, rt)
			pod := plainPod(func(p *v1.Pod) { p.Spec.RestartPolicy = tc.policy })
			ended, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
			assert.False(t, ended)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
			}
			ended, _ = syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, rt))
			assert.Equal(t, tc.phase == v1.PodFailed, ended)
			status, _ := st.GetPodStatus("u")
			assert.Equal(t, tc.phase, status.Phase)
			assert.Equal(t, tc.restarts, status.ContainerStatuses[0].RestartCount)
			assert.Equal(t, tc.starts, rt.starts)
		})
	}
}
