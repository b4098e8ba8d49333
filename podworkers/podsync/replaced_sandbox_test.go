package podsync_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// PH-6: what runs in a sandbox that has to be replaced is ended for that. Under OnFailure
// a container that obeys with 0 has not succeeded, and its pod has not, though the next
// attempt cannot be made at once.
func TestSyncPod_PH6_SandboxReplaced(t *testing.T) {
	rt := memory.New(memory.Config{})
	syncer, st := newQuietSyncer(t, rt)
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
		p.Annotations = map[string]string{"memory.podkeel.dev/a": "run=forever exit=0"}
	})
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
	require.NoError(t, err)
	seen := readPodStatus(t, rt)
	seen.Sandboxes[0].IPs = nil // It has lost its address.
	rt.FailPulls("img:1", runtime.ErrRegistryUnavailable)
	ended, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, seen)
	require.Error(t, err, "the image is gone")
	assert.False(t, ended)
	ended, _ = syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, rt))
	assert.False(t, ended)
	status, _ := st.GetPodStatus("u")
	assert.Equal(t, v1.PodRunning, status.Phase)
}
