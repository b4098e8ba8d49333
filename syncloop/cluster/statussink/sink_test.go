package statussink_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podmanager/status/statustest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// anyPods is a server that has every pod that is asked for.
type anyPods struct {
	apiserver.Pods
	mu       sync.Mutex
	pods     map[types.UID]*v1.Pod
	fails    error
	stubborn bool // it keeps its own message
	patches  int
	reads    int
}

func (a *anyPods) Get(_ context.Context, namespace, name string) (*v1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	for _, pod := range a.pods {
		if pod.Namespace == namespace && pod.Name == name {
			return pod.DeepCopy(), nil
		}
	}
	return nil, apierrors.NewNotFound(v1.Resource("pods"), name)
}

func (a *anyPods) PatchStatus(ctx context.Context, ref apiserver.PodRef, patch []byte) (*v1.Pod, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fails != nil {
		return nil, a.fails
	}
	a.patches++
	before := a.pods[ref.UID]
	if before == nil {
		before = &v1.Pod{}
		before.UID, before.ResourceVersion = ref.UID, "1"
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	after := &v1.Pod{}
	if raw, err = strategicpatch.StrategicMergePatch(raw, patch, v1.Pod{}); err == nil {
		err = json.Unmarshal(raw, after)
	}
	if a.stubborn {
		after.Status.Message = "mine"
	}
	version, _ := strconv.Atoi(before.ResourceVersion)
	after.ResourceVersion = strconv.Itoa(version + 1)
	a.pods[ref.UID] = after
	return after.DeepCopy(), err
}

// The sink keeps the contract of sinks.
func TestSink_Conformance(t *testing.T) {
	statustest.RunSink(t, func(t *testing.T) statustest.SinkUnderTest {
		pods := &anyPods{pods: map[types.UID]*v1.Pod{}}
		sink, err := statussink.New(statussink.Config{Pods: pods})
		require.NoError(t, err)
		mirrored := false
		return statustest.SinkUnderTest{Sink: sink, Read: func(uid types.UID) (v1.PodStatus, bool) {
			if mirrored {
				uid = "mirror"
			}
			pod := pods.pods[uid]
			if pod == nil {
				return v1.PodStatus{}, false
			}
			return pod.Status, true
		}, Trouble: func(trouble statustest.Trouble) bool {
			pods.fails = map[statustest.Trouble]error{
				statustest.Unreachable: errors.New("connection refused"), statustest.Busy: apierrors.NewTooManyRequests("", 3),
				statustest.Refuses: apierrors.NewBadRequest("no"),
			}[trouble]
			if trouble == statustest.NotYet {
				mirrored = true
			} else if trouble == statustest.NoTrouble && mirrored {
				sink.Observe(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "mirror", Name: "pod-a", Namespace: "default", ResourceVersion: "1",
					Annotations: map[string]string{podmanager.ConfigSourceAnnotation: "api", podmanager.ConfigMirrorAnnotation: ""}}})
			}
			return true
		}}
	})
	_, err := statussink.New(statussink.Config{})
	require.EqualError(t, err, "statussink: Config.Pods is nil")
}

// ST-29: a part that the server does not adopt is not sent again; a new part is sent.
func TestSink_ST29_WhatTheServerKeeps(t *testing.T) {
	pods := &anyPods{pods: map[types.UID]*v1.Pod{}, stubborn: true}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	send := func(phase v1.PodPhase) int {
		u := status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default"}},
			Status: v1.PodStatus{Phase: phase, Message: "ours"}}
		require.NoError(t, sink.Send(t.Context(), u))
		return pods.patches
	}
	require.Equal(t, 1, send(v1.PodPending))
	require.Equal(t, 1, send(v1.PodPending))
	require.Equal(t, 2, send(v1.PodRunning))
	require.Equal(t, 2, send(v1.PodRunning))
	require.Equal(t, v1.PodRunning, pods.pods["a"].Status.Phase)
}

// Of a pod that was deleted with force nothing is written, unless it has finalizers: the server
// would take a write for the removal of whatever has the name then. When the pod has ended it is
// deleted, with its UID.
func TestSink_DeletedWithForce(t *testing.T) {
	for name, c := range map[string]struct {
		grace      int64
		finalizers []string
		patches    int
		deletions  int
	}{"with force": {0, nil, 0, 1}, "in time": {30, nil, 3, 0}, "with finalizers": {0, []string{"example.com/x"}, 3, 0}} {
		pods := &removals{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{}}, asked: 1}
		sink, err := statussink.New(statussink.Config{Pods: pods})
		require.NoError(t, err)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "1"}}
		send := func(message string, finished bool) error {
			return sink.Send(t.Context(), status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: pod, Finished: finished,
				Status: v1.PodStatus{Phase: v1.PodRunning, Message: message}})
		}
		sink.Observe(pod)
		deleted := pod.DeepCopy()
		deleted.ResourceVersion, deleted.Finalizers = "2", c.finalizers
		deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{}, &c.grace
		pods.pods["a"] = deleted.DeepCopy()
		sink.Observe(deleted)
		for _, message := range []string{"a", "b"} {
			if err := send(message, false); err != nil {
				require.ErrorIs(t, err, status.ErrNotYet, name)
			}
		}
		if c.deletions > 0 {
			require.Error(t, send("c", true), "the server may be about to remove it")
			require.Equal(t, 1, pods.asked)
		}
		require.NoError(t, send("c", true), name)
		require.Equal(t, c.patches, pods.patches, name)
		require.Equal(t, 1+c.deletions, pods.asked, name)
	}
}

// removals counts deletions, which fail at first.
type removals struct {
	*anyPods
	asked int
}

func (r *removals) Delete(context.Context, apiserver.PodRef, *int64) error {
	if r.asked++; r.asked == 1 {
		return errors.New("connection reset by peer")
	}
	return nil
}

// A pod that a server has left between the two steps of its removal, as it was killed, is deleted
// again until the server answers, and not after that: states from between the steps come late.
func TestSink_ARemovalCutShort(t *testing.T) {
	pods := &removals{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{}}}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "web", Namespace: "default", ResourceVersion: "1"}}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{}, new(int64)
	pod.Status.Phase = v1.PodFailed
	pods.pods["a"] = pod.DeepCopy()
	sink.Observe(pod)
	update := status.Update{UID: "a", Version: 1, StatusEpoch: 1, Pod: pod, Finished: true, Status: v1.PodStatus{Phase: v1.PodFailed}}
	require.Error(t, sink.Send(t.Context(), update), "the server may be about to remove it")
	require.Zero(t, pods.asked)
	require.Error(t, sink.Send(t.Context(), update))
	require.NoError(t, sink.Send(t.Context(), update))
	late := pod.DeepCopy()
	late.ResourceVersion = "2"
	sink.Observe(late)
	require.NoError(t, sink.Send(t.Context(), update))
	require.Equal(t, 2, pods.asked)
	var again []types.UID
	sink.SetResend(func(uid types.UID) { again = append(again, uid) }, func(types.UID) {})
	restored := pod.DeepCopy()
	restored.ResourceVersion = "1"
	sink.Observe(restored) // The server's data were restored: it knows of no removal.
	require.Equal(t, []types.UID{"a"}, again)
	require.NoError(t, sink.Send(t.Context(), update))
	require.Equal(t, 3, pods.asked)
}

// ST-29: a static pod that was changed waits for its own mirror pod. The one before it still
// reports how it ended, to the mirror pod before, and does not take its place.
func TestSink_ChangedStaticPodWaitsForItsMirrorPod(t *testing.T) {
	pods := &anyPods{pods: map[types.UID]*v1.Pod{}}
	sink, err := statussink.New(statussink.Config{Pods: pods})
	require.NoError(t, err)
	var now []types.UID
	sink.SetResend(func(types.UID) {}, func(uid types.UID) { now = append(now, uid) })
	of := func(uid types.UID, annotations map[string]string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: "dns-n1", Namespace: "default", Annotations: annotations, ResourceVersion: "1"}}
	}
	static := func(uid types.UID) status.Update {
		return status.Update{UID: uid, Version: 1, StatusEpoch: 1, Status: v1.PodStatus{Phase: v1.PodRunning}, Pod: of(uid, map[string]string{
			podmanager.ConfigSourceAnnotation: "file", podmanager.ConfigHashAnnotation: string(uid)})}
	}
	mirror := func(uid types.UID, hash string) *v1.Pod {
		return of(uid, map[string]string{
			podmanager.ConfigSourceAnnotation: "file", podmanager.ConfigHashAnnotation: hash, podmanager.ConfigMirrorAnnotation: hash})
	}
	sink.Observe(mirror("m1", "s1"))
	require.NoError(t, sink.Send(t.Context(), static("s1")))
	require.ErrorIs(t, sink.Send(t.Context(), static("s2")), status.ErrNotYet)
	require.NoError(t, sink.Send(t.Context(), static("s1")))
	sink.Gone("m1")
	now = nil
	sink.Observe(mirror("m2", "s2"))
	require.Equal(t, []types.UID{"s1", "s2"}, now)
	require.NoError(t, sink.Send(t.Context(), static("s2")))
	require.Equal(t, v1.PodRunning, pods.pods["m2"].Status.Phase)
	require.NoError(t, sink.Send(t.Context(), status.Update{UID: "s1", Removed: true}))
	now = nil
	sink.Observe(mirror("m3", "s2"))
	require.Equal(t, []types.UID{"s2"}, now)
}

// deletedMeanwhile is a server whose pods are seen deleted before a patch of them is answered.
type deletedMeanwhile struct {
	*anyPods
	sink *statussink.Sink
}

func (d deletedMeanwhile) PatchStatus(ctx context.Context, ref apiserver.PodRef, patch []byte) (*v1.Pod, error) {
	pod, err := d.anyPods.PatchStatus(ctx, ref, patch)
	d.sink.Gone(ref.UID)
	return pod, err
}

// What an answer says of a pod that is gone by then is not remembered, or it would be for ever.
func TestSink_NothingIsLeftOfAPodThatIsGone(t *testing.T) {
	for _, fails := range []error{nil, context.DeadlineExceeded} {
		server := &deletedMeanwhile{anyPods: &anyPods{pods: map[types.UID]*v1.Pod{}, fails: fails}}
		sink, err := statussink.New(statussink.Config{Pods: server})
		require.NoError(t, err)
		server.sink = sink
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", ResourceVersion: "1"}}
		sink.Observe(pod)
		require.Equal(t, 1, sink.Records())
		err = sink.Send(t.Context(), status.Update{UID: "u", Pod: pod, Status: v1.PodStatus{Phase: v1.PodFailed}, Finished: true})
		require.ErrorIs(t, err, fails)
		require.NoError(t, sink.Send(t.Context(), status.Update{UID: "u", Pod: pod, Removed: true}))
		require.Zero(t, sink.Records())
		sink.Observe(pod)
		sink.Gone("u")
		require.Zero(t, sink.Records())
	}
	server := &anyPods{pods: map[types.UID]*v1.Pod{}, fails: context.DeadlineExceeded}
	sink, err := statussink.New(statussink.Config{Pods: server})
	require.NoError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	require.Error(t, sink.Send(t.Context(), status.Update{UID: "u", Pod: pod}))
	require.NoError(t, sink.Send(t.Context(), status.Update{UID: "u", Pod: pod, Removed: true}))
	require.Zero(t, sink.Records(), "the server has never shown it")
}
