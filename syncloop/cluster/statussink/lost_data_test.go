package statussink_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// After many short outages an outage is not counted in State.Outages. The pod is read before the final delete all the same.
func TestSink_FinalDeleteAfterManyOutages(t *testing.T) {
	backup := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "5"}}
	ended := backup.DeepCopy()
	ended.ResourceVersion, ended.DeletionTimestamp, ended.DeletionGracePeriodSeconds = "9", &metav1.Time{}, new(int64(30))
	ended.Status.Phase = v1.PodFailed
	pods, c := &removals{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{"a": backup.DeepCopy()}}, asked: 1}, contact.New(contact.Config{})
	sink, err := statussink.New(statussink.Config{Pods: pods, Contact: c})
	require.NoError(t, err)
	for range 10 {
		c.Report(errors.New("connection refused"))
		c.Report(nil)
	}
	sink.Observe(ended)
	c.Report(errors.New("connection refused")) // The backup is restored.
	c.Report(nil)
	require.NoError(t, sink.Send(t.Context(), status.Update{UID: "a", Version: 2, StatusEpoch: 1, Pod: ended, Finished: true, Status: v1.PodStatus{Phase: v1.PodFailed}}))
	require.Equal(t, 1, pods.asked, "no deletion was sent")
}

type goneWhileRead struct {
	*anyPods
	gone func()
}

func (h *goneWhileRead) Get(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	pod, err := h.anyPods.Get(ctx, namespace, name)
	h.gone()
	return pod, err
}

// The watch shows that the pod is gone while Send reads it.
func TestSink_GoneWhileRead(t *testing.T) {
	old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "5"}}
	newer := old.DeepCopy()
	newer.ResourceVersion, newer.DeletionTimestamp = "9", &metav1.Time{}
	pods := &goneWhileRead{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{"a": newer.DeepCopy()}}}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	pods.gone = func() { sink.Gone("a") }
	sink.Observe(old.DeepCopy())
	update := status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: newer, Status: running("x")}
	require.ErrorContains(t, sink.Send(t.Context(), update), "the pod has changed at the server")
	require.NoError(t, sink.Send(t.Context(), update), "nothing is left to send")
	require.Zero(t, pods.patches)
}

// Mirror pods that an operator deletes again and again leave no records.
func TestSink_RemovedMirrorsAreForgotten(t *testing.T) {
	pods := &anyPods{pods: map[types.UID]*v1.Pod{}}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "s", Name: "dns", Namespace: "default", Annotations: map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "s"}}}
	for i := range 50 {
		mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("m", i)), Name: "dns", Namespace: "default", ResourceVersion: fmt.Sprint(10 + i), Annotations: map[string]string{"kubernetes.io/config.source": "api", "kubernetes.io/config.mirror": "s", "kubernetes.io/config.hash": "s"}}}
		sink.Observe(mirror)
		require.NoError(t, sink.Send(t.Context(), status.Update{UID: "s", Version: uint64(i + 1), StatusEpoch: 1, Pod: static, Status: running(fmt.Sprint(i))}))
		sink.Gone(mirror.UID)
	}
	require.Zero(t, sink.Records())
}

// The watch shows that the pod is gone after Send has begun, and before it makes its patch. Send makes none.
func TestSink_GoneBeforeThePatch(t *testing.T) {
	pods := &anyPods{pods: map[types.UID]*v1.Pod{}}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "1"}}
	sink.Observe(pod)
	require.NoError(t, sink.Send(t.Context(), status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: pod, Status: running("x")}))
	sink.Gone("a")
	raw, err := sink.StatusPatch("a")
	require.NoError(t, err)
	require.Empty(t, raw)
}
