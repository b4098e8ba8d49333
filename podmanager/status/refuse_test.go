package status_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/podmanager/status"
)

// ST-6: if a container changes back from terminated, the whole status is rejected, and the hook reports it. A new
// incarnation is not restricted.
func TestSetPodStatus_ST6_RefusedAsAWhole(t *testing.T) {
	var log bytes.Buffer
	var refused []error
	store := status.New(status.Config{
		Clock: testclock.NewFakePassiveClock(start),
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Hooks: status.Hooks{Refused: func(uid types.UID, err error) {
			assert.EqualValues(t, "a", uid)
			refused = append(refused, err)
		}},
	})
	pod := newPod("a")
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	over := runningStatus(false)
	over.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: 1, StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start),
	}}
	store.SetPodStatus(pod, over)
	before, _ := store.GetPodStatus("a")

	newer := pod.DeepCopy()
	newer.DeletionTimestamp = &metav1.Time{Time: start.Add(time.Second)}
	back := runningStatus(true)
	back.PodIP = "192.0.2.1"
	store.SetPodStatus(newer, back)
	after, _ := store.GetPodStatus("a")
	assert.Equal(t, before, after)
	assert.Len(t, refused, 1)
	assert.EqualError(t, refused[0], "status: a container that has terminated for good is shown again: c")
	assert.Contains(t, log.String(), `level=ERROR msg="pod status refused" pod=web_ns uid=a err="status: a container`)
	u := store.Subscribe(nil).TakeAll(nil)[0]
	assert.Same(t, newer, u.Pod, "the pod is the newer one all the same")
	assert.EqualValues(t, 1, u.Version)

	store.ReplacePodStatus(pod, back)
	after, _ = store.GetPodStatus("a")
	assert.Equal(t, "192.0.2.1", after.PodIP)
	assert.Len(t, refused, 1)
}

// The status in the pod object counts as the previous status. If it forbids the new status, the store stores nothing.
func TestSetPodStatus_ST6_OfAPodThatWasSeenByOthers(t *testing.T) {
	w := newHarness()
	pod := newPod("a")
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Status = runningStatus(false)
	pod.Status.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	w.SetPodStatus(pod, runningStatus(true))
	_, ok := w.GetPodStatus("a")
	assert.False(t, ok)
	assert.Empty(t, w.Subscribe(nil).TakeAll(nil))
}
