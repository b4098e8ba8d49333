package syncloop_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// The eviction of a waiting pod is resolved in every case: the loop stops, or the pod is removed, before the
// eviction is handled.
func TestEvictWaiting_IsAlwaysResolved(t *testing.T) {
	running := []runtime.Pod{parseRunning(t, "b=running")}
	for name, test := range map[string]struct {
		then    func(w *harness)
		running []runtime.Pod
		want    string
	}{
		"the loop has ended":           {then: func(w *harness) { w.handlers.StopWaiting() }, want: syncloop.ErrStopped.Error()},
		"it was removed":               {then: func(w *harness) { w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{parsePod(t, []string{"b"})}) }},
		"it was removed, and it runs":  {then: func(w *harness) { w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{parsePod(t, []string{"b"})}) }, running: running, want: "syncloop: the pod was removed and still runs"},
		"it was evicted a second time": {then: func(w *harness) { w.evictWaiting("b"); w.handlers.HandleWaiting(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness()
			w.chain = append(w.chain, syncloop.AdmitPodCount(1))
			for _, words := range [][]string{{"add", "a"}, {"work", "a"}, {"remove", "a"}, {"add", "b"}} {
				w.runCommand(t, words)
			}
			ended := podworkers.NewCompletion(nil)
			assert.True(t, w.handlers.EvictWaiting("b", syncloop.WaitingEviction{Reason: "Evicted", Completion: ended}))
			w.running = test.running
			assert.NoError(t, ended.Err())
			test.then(w)
			select {
			case <-ended.Done():
			default:
				t.Fatal("it is not resolved")
			}
			if test.want == "" {
				assert.NoError(t, ended.Err())
			} else {
				assert.EqualError(t, ended.Err(), test.want)
			}
		})
	}
}

// Of several evictions of a waiting pod, the first has the reason, and the shortest grace period applies if the
// pod turns out to be running.
func TestEvictWaiting_I6_ShortestGrace(t *testing.T) {
	w := newHarness()
	w.chain = append(w.chain, syncloop.AdmitPodCount(1))
	for _, words := range [][]string{{"add", "a"}, {"work", "a"}, {"remove", "a"}} {
		w.runCommand(t, words)
	}
	pod := parsePod(t, []string{"b"})
	pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{pod})
	for _, grace := range []*int64{nil, new(int64(9)), new(int64(3)), nil, new(int64(7))} {
		assert.True(t, w.handlers.EvictWaiting("b", syncloop.WaitingEviction{Reason: "Evicted", GraceSeconds: grace}))
	}
	w.running = []runtime.Pod{parseRunning(t, "b=running")}
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, lifecycle.Seconds(3), w.workers.View("b").Grace)
}

// F11: the grace period of a terminating pod ends in the future, also if a duration cannot hold the number of seconds.
func TestTerminatingPods_F11_HugeGrace(t *testing.T) {
	w := newHarness()
	pod := parsePod(t, []string{"a"})
	pod.Spec.TerminationGracePeriodSeconds = new(int64(math.MaxInt64))
	w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{pod})
	w.workers.performWork("a", lifecycle.Succeeded)
	w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{pod})
	w.runCommand(t, []string{"cleanup"})
	p, terminating := w.handlers.TerminatingPod("a")
	assert.True(t, terminating)
	assert.True(t, p.Until.After(p.Since.AddDate(70, 0, 0)), "%s %s", p.Since, p.Until)
}

// TestWaiting_StatusFollowsThePreviousIncarnation: while the previous incarnation terminates, the status belongs
// to it. Then the status says that the pod waits, although nothing has been decided meanwhile.
func TestWaiting_StatusFollowsThePreviousIncarnation(t *testing.T) {
	w := newHarness()
	w.chain = []syncloop.PodAdmitHandler{syncloop.AdmitPodCount(2)}
	add := func(name string) {
		p := podRequesting(name, "")
		p.UID = types.UID(name)
		w.handlers.HandlePodAdditions(t.Context(), []*v1.Pod{p})
	}
	remove := func(name string) {
		p, _ := w.manager.GetPodByUID(types.UID(name))
		w.handlers.HandlePodRemoves(t.Context(), []*v1.Pod{p})
	}
	for _, name := range []string{"x", "y"} {
		add(name)
		w.workers.performWork(types.UID(name), lifecycle.Succeeded)
		remove(name)
	}
	add("z")
	add("x")
	w.workers.performWork("x", lifecycle.Succeeded)
	w.handlers.HandleWaiting(t.Context())
	assert.Empty(t, w.status.byUID["x"].Phase)
	w.workers.performWork("x", lifecycle.Succeeded)
	w.handlers.HandleWaiting(t.Context())
	assert.Equal(t, v1.PodPending, w.status.byUID["x"].Phase)
	assert.Equal(t, syncloop.ReasonAdmissionDeferred, w.status.byUID["x"].Reason)
}
