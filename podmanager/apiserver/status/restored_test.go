package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The server's data are restored from a backup: what it has of a pod is older than what it has
// acknowledged, and is told anew. Deletions are those of the server as it is now.
func TestSink_Restored(t *testing.T) {
	a := newAgent(t, 1)
	pod := a.create("web")
	a.SetPodStatus(pod, running("before"))
	require.Len(t, a.requests(), 1)
	restore := a.server.Backup()
	for range 20 {
		require.NoError(t, a.server.Admin().EditPod("default", "web", func(p *v1.Pod) { p.Labels = map[string]string{"at": p.ResourceVersion} }))
	}
	a.pass(time.Second)
	a.SetPodStatus(pod, running("after"))
	require.Len(t, a.requests(), 1)
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.requests()

	a.server.Crash()
	a.pass(10 * time.Second)
	restore()
	a.server.Recover()
	a.pass(time.Minute)
	require.Equal(t, "after", a.server.Admin().Pod("default", "web").Status.Message)
	a.requests()
	a.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	a.TerminatePod(pod)
	a.pass(10 * time.Second)
	require.NotNil(t, a.server.Admin().Pod("default", "web"), "nobody deletes it now")
	require.NoError(t, a.server.Admin().DeletePod("default", "web", 30))
	a.pass(10 * time.Second)
	require.Nil(t, a.server.Admin().Pod("default", "web"))
	a.stop()
}
