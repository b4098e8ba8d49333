package podworkers

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// brokenQueue is a queue with one failing method.
type brokenQueue struct {
	workqueue.WorkQueue
	fails string
	after int // number of calls before it fails
}

func (q *brokenQueue) panicIn(method string) {
	if method == q.fails {
		if q.after--; q.after < 0 {
			panic("boom in " + method)
		}
	}
}

func (q *brokenQueue) EnqueueAt(uid types.UID, at time.Time) {
	q.panicIn("EnqueueAt")
	q.WorkQueue.EnqueueAt(uid, at)
}

func (q *brokenQueue) Remove(uid types.UID) {
	q.panicIn("Remove")
	q.WorkQueue.Remove(uid)
}

func (q *brokenQueue) GetWork(now time.Time, due []types.UID) []types.UID {
	q.panicIn("GetWork")
	switch q.fails {
	case "never gives", "always soon":
		return due
	case "keeps":
		due = q.WorkQueue.GetWork(now, due)
		for _, uid := range due {
			q.WorkQueue.EnqueueAt(uid, now.Add(1))
		}
		return due
	}
	return q.WorkQueue.GetWork(now, due)
}

func (q *brokenQueue) Next() (time.Time, bool) {
	q.panicIn("Next")
	if q.fails == "always soon" {
		return time.Now().Add(1), true
	}
	return q.WorkQueue.Next()
}

func (q *brokenQueue) Due(uid types.UID) (time.Time, bool) {
	q.panicIn("Due")
	return q.WorkQueue.Due(uid)
}

// fineSyncer always succeeds. waits, if any, blocks SyncPod until its context ends.
type fineSyncer struct{ waits string }

func (s fineSyncer) SyncPod(ctx context.Context, _ SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	if pod.Name == s.waits {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return false, nil
}

func (fineSyncer) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, PodStatusFunc) error {
	return nil
}
func (fineSyncer) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }
func (fineSyncer) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error {
	return nil
}

func podNamed(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name), Name: name, Namespace: "default"}}
}

// TestQueue_I50_FailureEndsRun: if any method of the queue panics, at any time, Run returns
// ErrQueue, every waiting handle is resolved, and no wait lasts for ever.
func TestQueue_I50_FailureEndsRun(t *testing.T) {
	for _, fails := range []string{"EnqueueAt", "Remove", "GetWork", "Next", "Due", "never gives", "always soon", "keeps"} {
		for _, after := range []int{0, 1} {
			t.Run(fails, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					queue := &brokenQueue{workqueue.New(workqueue.Config{}), fails, after}
					failQueue(t, queue, func() { time.Sleep(2 * time.Minute); synctest.Wait() })
				})
			})
		}
	}
}

func failQueue(t *testing.T, queue *brokenQueue, pass func()) {
	var panicked []string
	w, err := New(Config{
		Syncer: fineSyncer{waits: "busy"}, Cache: NoCache{}, Queue: queue, Log: slog.New(slog.DiscardHandler),
		Hooks: Hooks{Panicked: func(call string, _ error) { panicked = append(panicked, call) }},
	})
	require.NoError(t, err)
	var ended error
	over := false
	go func() { ended = w.Run(t.Context()); over = true }()
	update := func(name string) {
		_ = w.UpdatePod(UpdatePodOptions{Pod: podNamed(name), UpdateType: SyncPodCreate})
		synctest.Wait()
	}
	update("busy")
	for _, name := range []string{"a", "b"} {
		update(name)
		update(name)
		w.Outlook(types.UID(name))
	}
	if queue.fails == "never gives" || queue.fails == "keeps" {
		pass() // Two pods are due.
	}
	kill := w.Kill(UpdatePodOptions{Pod: podNamed("busy"), UpdateType: SyncPodKill})
	w.Kill(UpdatePodOptions{Pod: podNamed("a"), UpdateType: SyncPodKill})
	w.Kill(UpdatePodOptions{Pod: podNamed("b"), UpdateType: SyncPodKill})
	pass()

	require.True(t, over, "Run goes on")
	assert.ErrorIs(t, ended, ErrQueue)
	_ = kill.Wait(t.Context())
	assert.ErrorIs(t, w.UpdatePod(UpdatePodOptions{Pod: podNamed("c"), UpdateType: SyncPodCreate}), ErrStopped)
	w.View("a")
	w.Outlook("a")
	switch queue.fails {
	case "never gives", "always soon", "keeps":
		assert.Empty(t, panicked)
		return
	}
	assert.Equal(t, []string{"Queue." + queue.fails}, panicked)
	assert.ErrorContains(t, ended, "boom in "+queue.fails)
}

// TestQueue_BeforeRun: a failure before Run ends Run at once.
func TestQueue_BeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := &brokenQueue{workqueue.New(workqueue.Config{}), "Due", 0}
		w, err := New(Config{Syncer: fineSyncer{}, Cache: NoCache{}, Queue: queue})
		require.NoError(t, err)
		require.NoError(t, w.UpdatePod(UpdatePodOptions{Pod: podNamed("a"), UpdateType: SyncPodCreate}))
		kill := w.Kill(UpdatePodOptions{Pod: podNamed("a"), UpdateType: SyncPodKill})
		assert.Zero(t, w.Outlook("a").NextAt)
		assert.ErrorIs(t, w.Run(t.Context()), ErrQueue)
		assert.True(t, errors.Is(kill.Wait(t.Context()), ErrStopped) || kill.Err() == nil)
	})
}
