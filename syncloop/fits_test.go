package syncloop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

// TestFits_IgnoresStoppedPods: a scheduler that has seen the end of a pod can use its resources before
// the loop has handled the end: before the call of NotifyWorkerChange, after it, and after the loop has
// forgotten everything else.
func TestFits_IgnoresStoppedPods(t *testing.T) {
	w := newHarness()
	w.chain = []syncloop.PodAdmitHandler{syncloop.AdmitResources(parseResources("cpu=4"))}
	big, next := podRequesting("big", "cpu=3"), podRequesting("next", "cpu=2")
	big.UID, next.UID = "big", "next"
	allocated := func() int64 { used := w.handlers.Allocated(); return used.Cpu().Value() }
	ctx := t.Context()

	w.handlers.HandlePodAdditions(ctx, []*v1.Pod{big})
	w.workers.performWork("big", lifecycle.Completed) // SyncPod: it is to end.
	assert.Error(t, w.handlers.Fits(next), "its containers may run")
	w.workers.performWork("big", lifecycle.Succeeded) // SyncTerminatingPod.
	assert.NoError(t, w.handlers.Fits(next))
	assert.Zero(t, allocated())
	assert.Equal(t, 1, w.handlers.Noted())
	w.handlers.HandleWaiting(ctx)
	assert.Zero(t, allocated())
	assert.Zero(t, w.handlers.Noted(), "the usage contains the change of the worker")
}

// TestFits_IgnoresStoppedPods_BeforeNotifyWorkerChange: the view of a worker shows the end before its hook is
// called.
func TestFits_IgnoresStoppedPods_BeforeNotifyWorkerChange(t *testing.T) {
	w := newHarness()
	w.chain = []syncloop.PodAdmitHandler{syncloop.AdmitResources(parseResources("cpu=4"))}
	big, next := podRequesting("big", "cpu=3"), podRequesting("next", "cpu=2")
	big.UID, next.UID = "big", "next"
	ctx := t.Context()
	w.handlers.HandlePodAdditions(ctx, []*v1.Pod{big})
	w.workers.performWork("big", lifecycle.Succeeded)
	w.handlers.HandlePodRemoves(ctx, []*v1.Pod{big})
	assert.Error(t, w.handlers.Fits(next), "it is ending")
	work, ok := w.workers.table.StartPodSync(mustFind(w.workers.table.Find("big")))
	assert.True(t, ok)
	w.workers.table.Done(work.Ref, work.Incarnation, lifecycle.Succeeded, &w.workers.out)
	assert.NoError(t, w.handlers.Fits(next))
}

// TestFits_CountsTheNextIncarnation: the previous incarnation has terminated, and the next one counts.
func TestFits_CountsTheNextIncarnation(t *testing.T) {
	w := newHarness()
	w.chain = []syncloop.PodAdmitHandler{syncloop.AdmitResources(parseResources("cpu=4"))}
	old, again, next := podRequesting("big", "cpu=3"), podRequesting("big", "cpu=3"), podRequesting("next", "cpu=2")
	old.UID, again.UID, next.UID = "big", "big", "next"
	ctx := t.Context()
	w.handlers.HandlePodAdditions(ctx, []*v1.Pod{old})
	w.workers.performWork("big", lifecycle.Succeeded)
	w.handlers.HandlePodRemoves(ctx, []*v1.Pod{old})
	w.handlers.HandlePodAdditions(ctx, []*v1.Pod{again})
	w.workers.performWork("big", lifecycle.Succeeded)
	assert.Error(t, w.handlers.Fits(next))
	used := w.handlers.Allocated()
	assert.Equal(t, int64(3), used.Cpu().Value(), "once")
}

func mustFind[T any](v T, ok bool) T {
	if !ok {
		panic("there is none")
	}
	return v
}
