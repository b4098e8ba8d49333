package podsync_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime/memory"
)

// I30: a container exits with code 0 by itself while its PostStart hook runs. The agent has not stopped
// it for another attempt, so under OnFailure its pod has succeeded.
func TestSyncPod_I30_EndedWhileItsHookRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := memory.New(memory.Config{})
		syncer, st := newQuietSyncer(t, rt)
		pod := plainPod(func(p *v1.Pod) {
			p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
			p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"hook"}}}}
			p.Annotations = map[string]string{"memory.podkeel.dev/a": "run=1s exit=0", "memory.podkeel.dev/a.post-start": "hang"}
		})
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
		require.ErrorContains(t, err, "it could not be run")
		ended, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, rt))
		require.NoError(t, err)
		assert.True(t, ended)
		status, _ := st.GetPodStatus("u")
		assert.Equal(t, v1.PodSucceeded, status.Phase)
	})
}
