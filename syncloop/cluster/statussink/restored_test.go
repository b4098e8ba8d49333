package statussink_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
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

// lockedPods is a server with one pod, which no watch shows.
type lockedPods struct {
	apiserver.Pods
	pod      v1.Pod
	versions []string // that were asked for
}

func (p *lockedPods) PatchStatus(_ context.Context, ref apiserver.PodRef, raw []byte) (*v1.Pod, error) {
	var asked v1.Pod
	if err := json.Unmarshal(raw, &asked); err != nil {
		return nil, err
	}
	p.versions = append(p.versions, asked.ResourceVersion)
	if v := asked.ResourceVersion; v != "" && v != p.pod.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, ref.Name, errors.New("modified"))
	}
	p.pod.Status, p.pod.ResourceVersion = asked.Status, p.pod.ResourceVersion+"0"
	return p.pod.DeepCopy(), nil
}

func (p *lockedPods) Get(context.Context, string, string) (*v1.Pod, error) {
	return p.pod.DeepCopy(), nil
}

// The data are restored before any watch has shown what the server has acknowledged last. The
// state that is read after the conflict is older than that, and counts all the same.
func TestSink_RestoredBeforeItWasShown(t *testing.T) {
	pod := v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "5"}}
	pods := &lockedPods{pod: pod}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	sink.Observe(pod.DeepCopy())
	send := func(message string) error {
		return sink.Send(t.Context(), status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: &pod, Status: running(message)})
	}
	require.NoError(t, send("before"))
	pods.pod = pod
	sink.Observe(pod.DeepCopy()) // Older than our own write, which may be on its way.
	require.NoError(t, send("after"))
	require.Equal(t, "after", pods.pod.Status.Message)
	require.Equal(t, []string{"5", "50", "5"}, pods.versions)
}
