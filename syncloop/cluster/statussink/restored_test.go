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
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// The server is restored from a backup: its state of a pod is older than the acknowledged one, so the sink sends the
// status again. Only deletions in the restored state count.
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
	require.NotNil(t, a.server.Admin().Pod("default", "web"), "it is not deleted in the restored state")
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

// A pod was deleted after the backup was made, and the node has seen that. The backup is restored.
// What the node still has to report about the deleted pod belongs to data that the server has lost:
// the restored pod gets no status of it, and is not deleted.
func TestSink_CF26_StatusOfAPodThatWasRestored(t *testing.T) {
	backup := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "5"}}
	deleted := backup.DeepCopy()
	deleted.ResourceVersion, deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = "9", &metav1.Time{}, new(int64(30))
	end := status.Update{UID: "a", Version: 2, StatusEpoch: 1, Pod: deleted, Finished: true, Status: v1.PodStatus{Phase: v1.PodFailed}}
	begin := func(t *testing.T) (*removals, *contact.Contact, *statussink.Sink) {
		pods, c := &removals{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{"a": backup.DeepCopy()}}, asked: 1}, contact.New(contact.Config{})
		sink, err := statussink.New(statussink.Config{Pods: pods, Contact: c})
		require.NoError(t, err)
		sink.Observe(backup.DeepCopy())
		require.NoError(t, sink.Send(t.Context(), status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: backup, Status: running("")}))
		require.Equal(t, 1, pods.patches)
		pods.pods["a"] = backup.DeepCopy() // Restored.
		return pods, c, sink
	}
	t.Run("the deletion was shown", func(t *testing.T) {
		pods, _, sink := begin(t)
		sink.Observe(deleted.DeepCopy())
		sink.Observe(backup.DeepCopy())
		require.ErrorIs(t, sink.Send(t.Context(), end), status.ErrNotYet)
		require.Equal(t, 1, pods.reads, "a cache may show the pod later than it was handed to the node")
		require.Equal(t, 1, pods.patches)
		require.NoError(t, sink.Send(t.Context(), status.Update{UID: "a", Version: 3, StatusEpoch: 2, Pod: backup, Status: running("again")}))
		require.Equal(t, "again", pods.pods["a"].Status.Message)
	})
	t.Run("the removal was shown", func(t *testing.T) {
		pods, _, sink := begin(t)
		sink.Observe(deleted.DeepCopy())
		sink.Gone("a")
		require.NoError(t, sink.Send(t.Context(), end))
		require.Equal(t, 1, pods.patches)
		require.Zero(t, pods.reads)
		sink.Observe(backup.DeepCopy())
		require.NoError(t, sink.Send(t.Context(), status.Update{UID: "a", Version: 3, StatusEpoch: 2, Pod: backup, Status: running("again")}))
		require.Equal(t, "again", pods.pods["a"].Status.Message)
	})
	t.Run("before the final delete", func(t *testing.T) {
		pods, c, sink := begin(t)
		ended := deleted.DeepCopy()
		ended.Status.Phase = v1.PodFailed
		sink.Observe(ended)
		c.Report(errors.New("connection refused"))
		require.NoError(t, sink.Send(t.Context(), end))
		require.Equal(t, 1, pods.reads)
		require.Equal(t, 1, pods.asked, "no deletion was sent")
		require.Equal(t, 1, pods.patches)
	})
	t.Run("an outage without a restore", func(t *testing.T) {
		pods, c, sink := begin(t)
		ended := deleted.DeepCopy()
		ended.Status.Phase = v1.PodFailed
		pods.pods["a"] = ended.DeepCopy()
		sink.Observe(ended)
		c.Report(errors.New("connection refused"))
		require.NoError(t, sink.Send(t.Context(), end))
		require.Equal(t, 2, pods.asked)
		require.Equal(t, 1, pods.reads)
	})
}
