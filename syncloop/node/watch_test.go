package node

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/status"
)

// TestWatcher_LeavesNothingBehind: the removal of a status may arrive after the pod was shown as Gone,
// and leaves no entry in the watcher.
func TestWatcher_LeavesNothingBehind(t *testing.T) {
	n, err := New(Config{})
	require.NoError(t, err)
	w := n.view.addWatcher()
	defer n.view.removeWatcher(w)
	pod := &v1.Pod{}
	pod.UID, pod.Name = "a", "a"
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	assert.Empty(t, w.takeChangedStates(n.view), "nobody wants it")
	n.status.RemoveOrphanedStatuses(nil)
	assert.Empty(t, w.takeChangedStates(n.view))
	assert.Empty(t, w.newest)
	assert.Empty(t, w.shown)
}

// between does something after the statuses were taken.
type between struct {
	status.Subscription
	do func()
}

func (b *between) TakeAll(buf []status.Update) []status.Update {
	buf = b.Subscription.TakeAll(buf)
	if do := b.do; do != nil && len(buf) > 0 {
		b.do = nil
		do()
	}
	return buf
}

// nodeWithWatcher returns a node that does not run, and a watcher. The watcher has not received the only desired pod
// yet.
func nodeWithWatcher(t *testing.T) (*Node, *watcher, *v1.Pod) {
	n, err := New(Config{})
	require.NoError(t, err)
	w := n.view.addWatcher()
	t.Cleanup(func() { n.view.removeWatcher(w) })
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
	pod.UID, pod.Name = "a", "a"
	n.manager.AddPod(pod)
	return n, w, pod
}

// TestWatcher_ShowsAnEndWithHowItEnded: the last status of a pod is stored, and its worker ends,
// after the watcher has taken the status that was stored when the pod began to end.
func TestWatcher_ShowsAnEndWithHowItEnded(t *testing.T) {
	n, w, pod := nodeWithWatcher(t)
	said := func(phase v1.PodPhase, state v1.ContainerState) {
		n.status.SetPodStatus(pod, v1.PodStatus{Phase: phase, ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: state}}})
	}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}
	said(v1.PodRunning, running)
	w.takeChangedStates(n.view)
	said(v1.PodFailed, running)
	w.statuses = &between{w.statuses, func() { said(v1.PodFailed, ended) }}
	states := w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.Equal(t, ended, states[0].Pod.Status.ContainerStatuses[0].State)
	assert.Equal(t, uint64(3), states[0].Version)
	assert.Empty(t, w.takeChangedStates(n.view), "it is told once")
}

// TestWatcher_TheLastStateHasTheLastStatus: the pod is gone before its last status was taken.
func TestWatcher_TheLastStateHasTheLastStatus(t *testing.T) {
	n, w, pod := nodeWithWatcher(t)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	w.takeChangedStates(n.view)
	n.manager.RemovePod(pod)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning, Message: "more"})
	w.statuses = &between{w.statuses, func() { n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed}) }}
	states := w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.True(t, states[0].Gone)
	assert.Equal(t, v1.PodFailed, states[0].Pod.Status.Phase)
}

// TestWatcher_AForgottenStatusCounts: the last status is forgotten after it was taken.
func TestWatcher_AForgottenStatusCounts(t *testing.T) {
	n, w, pod := nodeWithWatcher(t)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	w.takeChangedStates(n.view)
	n.manager.RemovePod(pod)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	w.statuses = &between{w.statuses, func() { n.status.RemoveOrphanedStatuses(nil) }}
	states := w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.True(t, states[0].Gone)
	assert.Equal(t, v1.PodFailed, states[0].Pod.Status.Phase)
	assert.Empty(t, w.takeChangedStates(n.view))
	assert.Empty(t, w.newest)
}

// TestWatcher_NotGoneBeforeItsWorkerIsSeen: a pod is removed after the watcher has found that it has
// no worker. One may have begun before, and its end is to be shown.
func TestWatcher_NotGoneBeforeItsWorkerIsSeen(t *testing.T) {
	n, w, pod := nodeWithWatcher(t)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodPending})
	w.takeChangedStates(n.view)
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	w.statuses = &between{w.statuses, func() {
		n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning, Message: "more"})
		w.statuses = &between{w.statuses, func() { n.manager.RemovePod(pod) }}
	}}
	states := w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.False(t, states[0].Gone)
}

// crashes are events of a process that crashes while it waits.
type crashes struct{ executor.Executor }

type crash struct{ executor.Event }

func (crashes) NewEvent() executor.Event { return crash{} }
func (crash) Signal()                    {}
func (crash) Wait(context.Context) error { return executor.ErrCrashed }

// TestNode_WatchEndsWithACrash: after a crash the process does nothing.
func TestNode_WatchEndsWithACrash(t *testing.T) {
	n, _, pod := nodeWithWatcher(t)
	n.view.executor = crashes{n.executor}
	yielded := 0
	for range n.Watch(t.Context()) {
		yielded++
		n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
	}
	assert.Equal(t, 1, yielded)
}

// TestNode_WatchYieldsTheLastChange: Watch yields changes from before the end of ctx.
func TestNode_WatchYieldsTheLastChange(t *testing.T) {
	n, _, pod := nodeWithWatcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var shown []v1.PodPhase
	for state := range n.Watch(ctx) {
		if shown = append(shown, state.Pod.Status.Phase); len(shown) == 1 {
			n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodFailed})
			cancel()
		}
	}
	assert.Equal(t, []v1.PodPhase{"", v1.PodFailed}, shown)
}

// TestWatcher_ShowsARestoredEnd: a watch begins before the node has restored the terminal status that an earlier process
// saved. Such a pod never gets a status in the store, so the watcher shows the restored one.
func TestWatcher_ShowsARestoredEnd(t *testing.T) {
	n, w, pod := nodeWithWatcher(t)
	n.view.notifyWatchers(pod.UID)
	states := w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.Empty(t, states[0].Pod.Status.Phase)
	ended := *pod
	ended.Status = v1.PodStatus{Phase: v1.PodSucceeded}
	n.manager.AddPod(&ended)
	n.view.notifyWatchers(pod.UID)
	states = w.takeChangedStates(n.view)
	require.Len(t, states, 1)
	assert.Equal(t, v1.PodSucceeded, states[0].Pod.Status.Phase)
}
