package status_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// harness is a store on a clock that stands still.
type harness struct {
	*status.Store
	clk *testclock.FakePassiveClock
	// accepted and unchanged count what the hooks were told.
	accepted, unchanged int
	// removals counts what a test has removed since it looked last.
	removals int
}

func newHarness(pods ...*v1.Pod) *harness {
	manager := podmanager.New()
	manager.SetPods(pods)
	w := &harness{clk: testclock.NewFakePassiveClock(start)}
	w.Store = status.New(status.Config{
		Clock:      w.clk,
		Translator: manager,
		Hooks: status.Hooks{
			Accepted:  func(types.UID, uint64) { w.accepted++ },
			Unchanged: func(types.UID) { w.unchanged++ },
		},
	})
	return w
}

func (w *harness) advanceClock(d time.Duration) { w.clk.SetTime(w.clk.Now().Add(d)) }

// mustGetStatus returns the stored status of a pod. It fails the test if none is stored.
func (w *harness) mustGetStatus(t *testing.T, uid types.UID) v1.PodStatus {
	t.Helper()
	s, ok := w.GetPodStatus(uid)
	require.True(t, ok, "no status of %s", uid)
	return s
}

func newPod(uid string, annotations ...string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: "web", Namespace: "ns"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotations[i], annotations[i+1])
	}
	return p
}

func staticPod(uid string) *v1.Pod {
	return newPod(uid, podmanager.ConfigSourceAnnotation, podmanager.FileSource)
}

func runningStatus(ready bool) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "c", ContainerID: "mem://1", Ready: ready, Started: pointerTo(true),
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
	}}}
}

func pointerTo[T any](v T) *T { return &v }

// readyConditionStatus returns the status of the condition Ready, or "" if there is no such condition.
func readyConditionStatus(s v1.PodStatus) v1.ConditionStatus {
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady {
			return c.Status
		}
	}
	return ""
}

func TestGetPodStatus_ST1_MirrorUIDIsTranslated(t *testing.T) {
	st := staticPod("static")
	mirror := newPod("mirror", podmanager.ConfigMirrorAnnotation, "h")
	w := newHarness(st, mirror)
	w.SetPodStatus(st, runningStatus(false))

	assert.Equal(t, w.mustGetStatus(t, "static"), w.mustGetStatus(t, "mirror"))
	_, ok := w.GetPodStatus("other")
	assert.False(t, ok)

	w.SetContainerReadiness("mirror", "mem://1", true)
	assert.True(t, w.mustGetStatus(t, "static").ContainerStatuses[0].Ready)
	w.SetContainerStartup("mirror", "mem://1", false)
	assert.False(t, *w.mustGetStatus(t, "static").ContainerStatuses[0].Started)
}

func TestSetPodStatus_ST2_CopiesInAndOut(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	given := runningStatus(true)
	w.SetPodStatus(newPod("a"), given)
	given.ContainerStatuses[0].Name = "changed by the giver"
	assert.Equal(t, "c", w.mustGetStatus(t, "a").ContainerStatuses[0].Name)

	w.mustGetStatus(t, "a").ContainerStatuses[0].Name = "changed by a reader"
	sub.TakeAll(nil)[0].Status.ContainerStatuses[0].Name = "changed by a subscriber"
	assert.Equal(t, "c", w.mustGetStatus(t, "a").ContainerStatuses[0].Name)
}

// ReadPodStatus shows the same status as a copy. The shown status does not change when a newer one is stored.
func TestReadPodStatus(t *testing.T) {
	w := newHarness()
	assert.False(t, w.ReadPodStatus("a", func(*v1.PodStatus) { t.Error("nothing is stored") }))
	w.SetPodStatus(newPod("a"), v1.PodStatus{Phase: v1.PodPending})
	var shown, later *v1.PodStatus
	assert.True(t, w.ReadPodStatus("a", func(s *v1.PodStatus) { shown = s }))
	before := w.mustGetStatus(t, "a")
	assert.Equal(t, before, *shown)
	w.SetPodStatus(newPod("a"), v1.PodStatus{Phase: v1.PodRunning})
	w.ReadPodStatus("a", func(s *v1.PodStatus) { later = s })
	assert.Equal(t, v1.PodRunning, later.Phase)
	assert.Equal(t, before, *shown)
}

func TestSetPodStatus_ST2_ForcedOnceThePodIsBeingDeleted(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	pod := newPod("a")
	w.SetPodStatus(pod, runningStatus(true))
	deleted := pod.DeepCopy()
	deleted.DeletionTimestamp = pointerTo(metav1.NewTime(start))
	w.SetPodStatus(deleted, runningStatus(true))
	w.SetPodStatus(deleted, runningStatus(true))
	assert.EqualValues(t, 3, sub.TakeAll(nil)[0].Version)
}

func TestSetPodStatus_ST3_ST4_UnchangedIsDroppedAndVersionsCount(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	pod := newPod("a")
	w.SetPodStatus(pod, runningStatus(true))
	got := sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.EqualValues(t, 1, got[0].Version)

	w.advanceClock(time.Hour)
	same := runningStatus(true)
	same.Conditions = []v1.PodCondition{{Type: "theirs", Status: "True"}}
	newer := newPod("a", "changed", "yes")
	w.SetPodStatus(newer, same)
	assert.Empty(t, sub.TakeAll(nil), "nobody is told")
	assert.Equal(t, 1, w.accepted)
	assert.Equal(t, 1, w.unchanged)

	w.SetPodStatus(newer, runningStatus(false))
	got = sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.EqualValues(t, 2, got[0].Version)
	assert.Same(t, newer, got[0].Pod)
}

func TestSetPodStatus_ST3_KeepsTheNewerPodOfADroppedStatus(t *testing.T) {
	w := newHarness()
	w.SetPodStatus(newPod("a"), runningStatus(false))
	gated := newPod("a")
	gated.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "gate"}}
	w.SetPodStatus(gated, runningStatus(false))
	w.SetContainerReadiness("a", "mem://1", true)
	assert.Equal(t, v1.ConditionFalse, readyConditionStatus(w.mustGetStatus(t, "a")), "judged by the newer spec")
}

func TestSetPodStatus_ST5_TimesOfWhatCameBefore(t *testing.T) {
	w := newHarness()
	pod := newPod("a")
	began := metav1.NewTime(start.Add(-time.Hour))
	pod.Status = v1.PodStatus{StartTime: &began, Conditions: []v1.PodCondition{
		{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: began},
	}}
	given := runningStatus(true)
	given.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	w.SetPodStatus(pod, given)
	s := w.mustGetStatus(t, "a")
	assert.True(t, began.Equal(s.StartTime), "before the first status the pod's own counts")
	assert.True(t, began.Equal(&s.Conditions[0].LastTransitionTime))

	w.advanceClock(time.Minute)
	given.Conditions[0].Status = v1.ConditionFalse
	w.SetPodStatus(pod, given)
	s = w.mustGetStatus(t, "a")
	assert.True(t, began.Equal(s.StartTime))
	assert.True(t, start.Add(time.Minute).Equal(s.Conditions[0].LastTransitionTime.Time))
}

func TestSetPodStatus_ST7_ComparedAfterCutting(t *testing.T) {
	w := newHarness()
	w.clk.SetTime(start.Add(300 * time.Millisecond))
	w.SetPodStatus(newPod("a"), runningStatus(true))
	fine := runningStatus(true)
	fine.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(999 * time.Millisecond))
	w.SetPodStatus(newPod("a"), fine)
	assert.Equal(t, 1, w.unchanged)
	assert.Equal(t, start, w.mustGetStatus(t, "a").StartTime.UTC())
}

func TestSetContainerReadiness_ST8(t *testing.T) {
	w := newHarness()
	w.SetContainerReadiness("a", "mem://1", true) // no such pod
	w.SetContainerStartup("a", "mem://1", true)
	_, ok := w.GetPodStatus("a")
	assert.False(t, ok)

	w.SetPodStatus(newPod("a"), runningStatus(false))
	sub := w.Subscribe(nil)
	sub.TakeAll(nil)
	w.SetContainerReadiness("a", "mem://other", true)
	w.SetContainerReadiness("a", "mem://1", false)
	w.SetContainerStartup("a", "mem://1", true)
	assert.Empty(t, sub.TakeAll(nil), "unknown or unchanged")

	w.SetContainerReadiness("a", "mem://1", true)
	got := sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.EqualValues(t, 2, got[0].Version)
	assert.True(t, got[0].Status.ContainerStatuses[0].Ready)
	assert.Equal(t, v1.ConditionTrue, readyConditionStatus(got[0].Status))
}

func TestTerminatePod_ST9_ST10(t *testing.T) {
	w := newHarness()
	pod := newPod("a")
	w.SetPodStatus(pod, runningStatus(true))
	sub := w.Subscribe(nil)
	assert.False(t, sub.TakeAll(nil)[0].Finished)

	w.TerminatePod(pod)
	got := sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.True(t, got[0].Finished)
	assert.Equal(t, v1.PodFailed, got[0].Status.Phase)
	require.NotNil(t, got[0].Status.ContainerStatuses[0].State.Terminated)
	assert.EqualValues(t, 137, got[0].Status.ContainerStatuses[0].State.Terminated.ExitCode)
	assert.Equal(t, v1.ConditionFalse, readyConditionStatus(got[0].Status))

	w.TerminatePod(pod)
	assert.EqualValues(t, 3, sub.TakeAll(nil)[0].Version, "forced, also if nothing changes")
}

func TestTerminatePod_ST10_OfAPodWithoutAStatus(t *testing.T) {
	w := newHarness()
	pod := newPod("a")
	pod.Status = v1.PodStatus{Phase: v1.PodSucceeded}
	w.TerminatePod(pod)
	assert.Equal(t, v1.PodSucceeded, w.mustGetStatus(t, "a").Phase, "what the pod came with counts")
	assert.Nil(t, pod.Status.Conditions, "and is not changed")
}

func TestTerminatePod_ST11_FinishedNeverGoesBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want bool
	}{
		{"ordinary pod", newPod("a"), true},
		{"static pod", staticPod("a"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newHarness()
			sub := w.Subscribe(nil)
			w.SetPodStatus(tc.pod, runningStatus(true))
			w.TerminatePod(tc.pod)
			w.SetContainerReadiness("a", "mem://1", true) // late
			assert.True(t, sub.TakeAll(nil)[0].Finished)
			w.SetPodStatus(tc.pod, v1.PodStatus{Phase: v1.PodRunning, Message: "something new"})
			assert.Equal(t, tc.want, sub.TakeAll(nil)[0].Finished)
		})
	}
}

// An unchanged status does not reset that a static pod has finished: otherwise no subscriber would get the finished
// status.
func TestSetPodStatus_ST3_DroppedStatusLeavesFinishedAlone(t *testing.T) {
	w := newHarness()
	pod := staticPod("a")
	w.SetPodStatus(pod, runningStatus(true))
	w.TerminatePod(pod)
	w.SetPodStatus(pod, w.mustGetStatus(t, "a"))
	assert.Equal(t, 1, w.unchanged)
	assert.True(t, w.Subscribe(nil).TakeAll(nil)[0].Finished)
}

func TestReplacePodStatus_ANewLifeIsNotBoundByTheLast(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	pod := newPod("a")
	w.SetPodStatus(pod, runningStatus(true))
	w.TerminatePod(pod)
	assert.True(t, sub.TakeAll(nil)[0].Finished)

	w.advanceClock(time.Minute)
	again := v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}}
	w.ReplacePodStatus(pod, again)
	w.ReplacePodStatus(nil, again)
	got := sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.EqualValues(t, 3, got[0].Version, "versions go on growing")
	assert.False(t, got[0].Finished)
	assert.Equal(t, v1.PodPending, got[0].Status.Phase)
	assert.Equal(t, start.Add(time.Minute), got[0].Status.StartTime.Time)
	assert.Equal(t, start.Add(time.Minute), got[0].Status.Conditions[0].LastTransitionTime.Time, "not since the former life")

	w.ReplacePodStatus(pod, again)
	assert.Len(t, sub.TakeAll(nil), 1, "told, also if it says the same")
}

func TestRemoveOrphanedStatuses_ST21_DropsAndTells(t *testing.T) {
	w := newHarness()
	for _, uid := range []string{"c", "a", "b", "stays"} {
		w.SetPodStatus(newPod(uid), runningStatus(true))
	}
	sub := w.Subscribe(nil)
	sub.TakeAll(nil)
	w.RemoveOrphanedStatuses(map[types.UID]bool{"stays": true, "a": false, "never heard of": true})

	var told []types.UID
	for _, u := range sub.TakeAll(nil) {
		assert.True(t, u.Removed)
		assert.Zero(t, u.Version)
		assert.Equal(t, u.UID, u.Pod.UID)
		assert.Equal(t, v1.PodStatus{}, u.Status)
		told = append(told, u.UID)
	}
	assert.Equal(t, []types.UID{"a", "b", "c"}, told)
	_, ok := w.GetPodStatus("a")
	assert.False(t, ok)
	w.mustGetStatus(t, "stays")

	w.RemoveOrphanedStatuses(nil)
	_, ok = w.GetPodStatus("stays")
	assert.False(t, ok)
}

func TestRemoveOrphanedStatuses_VersionsDoNotGoDown(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	for _, ready := range []bool{true, false, true} {
		w.SetPodStatus(newPod("a"), runningStatus(ready))
	}
	assert.EqualValues(t, 3, sub.TakeAll(nil)[0].Version)
	w.RemoveOrphanedStatuses(nil)
	w.SetPodStatus(newPod("a"), runningStatus(true))
	got := sub.TakeAll(nil)
	require.Len(t, got, 1)
	assert.False(t, got[0].Removed, "it is back, that is the newest")
	assert.Greater(t, got[0].Version, uint64(3))
}

// A subscriber that has missed a removal still gets the status of another incarnation.
func TestRemoveOrphanedStatuses_BeginsAnotherLife(t *testing.T) {
	w := newHarness()
	sub := w.Subscribe(nil)
	pod := newPod("a")
	lives := []uint64{}
	for range 3 {
		w.SetPodStatus(pod, runningStatus(true))
		lives = append(lives, sub.TakeAll(nil)[0].StatusEpoch)
		w.ReplacePodStatus(pod, runningStatus(false))
		lives = append(lives, sub.TakeAll(nil)[0].StatusEpoch)
		w.RemoveOrphanedStatuses(nil)
	}
	assert.Equal(t, []uint64{0, 1, 2, 3, 4, 5}, lives)
}

func TestSubscribe_BeginsWithAllThatIsStored(t *testing.T) {
	w := newHarness()
	for _, uid := range []string{"b", "c", "a"} {
		w.SetPodStatus(newPod(uid), runningStatus(true))
	}
	woken := 0
	sub := w.Subscribe(func() { woken++ })
	assert.Equal(t, 1, woken)
	var told []types.UID
	for _, u := range sub.TakeAll(nil) {
		told = append(told, u.UID)
	}
	assert.Equal(t, []types.UID{"a", "b", "c"}, told)

	w.Subscribe(nil)
	assert.Equal(t, 1, woken, "another one's beginning wakes nobody else")
}

func TestSubscription_NewestPerPodInOrderOfFirstChange(t *testing.T) {
	w := newHarness()
	woken := 0
	sub := w.Subscribe(func() { woken++ })
	w.SetPodStatus(newPod("b"), v1.PodStatus{Phase: v1.PodPending})
	w.advanceClock(time.Second)
	w.SetPodStatus(newPod("a"), v1.PodStatus{Phase: v1.PodPending})
	w.advanceClock(time.Second)
	w.SetPodStatus(newPod("b"), v1.PodStatus{Phase: v1.PodRunning})
	assert.Equal(t, 1, woken, "only when there was nothing to take")

	buf := make([]status.Update, 0, 4)
	got := sub.TakeAll(buf)
	require.Len(t, got, 2)
	assert.Same(t, &buf[:1][0], &got[0], "the caller's buffer")
	assert.EqualValues(t, "b", got[0].UID)
	assert.Equal(t, v1.PodRunning, got[0].Status.Phase)
	assert.EqualValues(t, 2, got[0].Version)
	assert.Equal(t, start, got[0].Since, "ST-4: since the first change that was not told")
	assert.EqualValues(t, "a", got[1].UID)
	assert.Equal(t, start.Add(time.Second), got[1].Since)
	assert.Empty(t, sub.TakeAll(got[:0]))
}

func TestSubscription_NoneBlocksOrRobsAnother(t *testing.T) {
	w := newHarness()
	idle := w.Subscribe(func() {}) // never takes
	busy := w.Subscribe(nil)
	for i := range 1000 {
		w.SetPodStatus(newPod("a"), v1.PodStatus{Message: fmt.Sprint(i)})
		require.Len(t, busy.TakeAll(nil), 1)
	}
	got := idle.TakeAll(nil)
	require.Len(t, got, 1)
	assert.Equal(t, "999", got[0].Status.Message)
}

func TestSubscription_WokenWithoutTheLock(t *testing.T) {
	w := newHarness()
	var sub status.Subscription
	var got []status.Update
	sub = w.Subscribe(func() {
		w.GetPodStatus("a") // would never return under the lock
		got = sub.TakeAll(nil)
		w.SetPodStatus(newPod("b"), runningStatus(true))
	})
	w.SetPodStatus(newPod("a"), runningStatus(true))
	require.Len(t, got, 1)
	assert.EqualValues(t, "b", got[0].UID, "the inner call woke it again")
}

func TestSubscription_ClosedIsToldNothing(t *testing.T) {
	w := newHarness()
	woken := 0
	closed, open := w.Subscribe(func() { woken++ }), w.Subscribe(nil)
	closed.Close()
	closed.Close()
	w.SetPodStatus(newPod("a"), runningStatus(true))
	assert.Zero(t, woken)
	assert.Empty(t, closed.TakeAll(nil))
	assert.Len(t, open.TakeAll(nil), 1)
}

func TestStore_NilPodsAreIgnored(t *testing.T) {
	w := newHarness()
	w.SetPodStatus(nil, runningStatus(true))
	w.TerminatePod(nil)
	assert.Zero(t, w.accepted)
}

func TestStore_ZeroConfigIsComplete(t *testing.T) {
	s := status.New(status.Config{})
	s.SetPodStatus(newPod("a"), runningStatus(true))
	s.SetPodStatus(newPod("a"), runningStatus(true))
	got, ok := s.GetPodStatus("a")
	require.True(t, ok)
	assert.False(t, got.StartTime.IsZero())
}

// After any calls of a store its published statuses keep ST-4, ST-5 and ST-11, and a subscriber that takes at random
// times ends with the stored statuses.
func TestStore_AnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newHarness()
		sub := w.Subscribe(nil)
		uids := []string{"a", "b", "c"}
		seen := map[types.UID]status.Update{}
		take := func(t *rapid.T) {
			for _, u := range sub.TakeAll(nil) {
				old, known := seen[u.UID]
				if u.Removed {
					delete(seen, u.UID)
					continue
				}
				if known && u.Version <= old.Version {
					t.Fatalf("%s: version %d after %d", u.UID, u.Version, old.Version)
				}
				if known && old.Finished && !u.Finished && w.removals == 0 {
					t.Fatalf("%s: finished went back", u.UID)
				}
				if known && w.removals == 0 && !u.Status.StartTime.Equal(old.Status.StartTime) {
					t.Fatalf("%s: the start time changed", u.UID)
				}
				seen[u.UID] = u
			}
			w.removals = 0
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				s := runningStatus(rapid.Bool().Draw(t, "ready"))
				s.Phase = rapid.SampledFrom([]v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodFailed}).Draw(t, "phase")
				w.SetPodStatus(newPod(rapid.SampledFrom(uids).Draw(t, "uid")), s)
			},
			"ready": func(t *rapid.T) {
				w.SetContainerReadiness(types.UID(rapid.SampledFrom(uids).Draw(t, "uid")), "mem://1", rapid.Bool().Draw(t, "ready"))
			},
			"terminate": func(t *rapid.T) { w.TerminatePod(newPod(rapid.SampledFrom(uids).Draw(t, "uid"))) },
			"remove": func(t *rapid.T) {
				w.RemoveOrphanedStatuses(map[types.UID]bool{types.UID(rapid.SampledFrom(uids).Draw(t, "keep")): true})
				w.removals++
			},
			"pass": func(*rapid.T) { w.advanceClock(time.Second) },
			"take": take,
		})
		take(t)
		for _, uid := range uids {
			got, ok := w.GetPodStatus(types.UID(uid))
			u, told := seen[types.UID(uid)]
			if ok != told || ok && !assert.ObjectsAreEqual(got, u.Status) {
				t.Fatalf("%s: the subscriber ended with something else than what is stored", uid)
			}
		}
	})
}

// Under -race: subscribers that take while many write end with the newest.
func TestStore_ConcurrentUse(t *testing.T) {
	const writers, each = 4, 200
	s := status.New(status.Config{})
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for r := range 3 {
		wake := make(chan struct{}, 1)
		sub := s.Subscribe(func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		reading.Go(func() {
			last := map[types.UID]status.Update{}
			take := func() {
				for _, u := range sub.TakeAll(nil) {
					assert.GreaterOrEqual(t, u.Version, last[u.UID].Version)
					last[u.UID] = u
				}
			}
			for over := false; !over; {
				select {
				case <-wake:
					take()
				case <-done:
					over = true
				}
			}
			take()
			for w := range writers {
				assert.EqualValues(t, each, last[types.UID(fmt.Sprint(w))].Version, "reader %d", r)
			}
			sub.Close()
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				s.SetPodStatus(newPod(fmt.Sprint(w)), v1.PodStatus{Message: fmt.Sprint(i)})
				s.GetPodStatus("0")
				s.SetContainerReadiness("1", "mem://1", i%2 == 0)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
}

func BenchmarkSetPodStatusUnchanged(b *testing.B) {
	s := status.New(status.Config{})
	pod, st := newPod("a"), runningStatus(true)
	b.ReportAllocs()
	for b.Loop() {
		s.SetPodStatus(pod, st)
	}
}

// TestPodIsFinished: from the end of a life to the first word of the next.
func TestPodIsFinished(t *testing.T) {
	store := status.New(status.Config{})
	pod := newPod("uid-1")
	assert.False(t, store.PodIsFinished("uid-1"), "nothing is known of it")
	store.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	assert.False(t, store.PodIsFinished("uid-1"))
	store.TerminatePod(pod)
	assert.True(t, store.PodIsFinished("uid-1"))
	store.ReplacePodStatus(pod, v1.PodStatus{Phase: v1.PodPending})
	assert.False(t, store.PodIsFinished("uid-1"))
}

// ST-17: a program that shows statuses sees the terminal phase of a pod when no container of it runs. Until then it
// sees the earlier phase, whatever statuses are set meanwhile.
func TestStore_ST17_ReportedEndIsHeldBack(t *testing.T) {
	s := status.New(status.Config{})
	sub := s.Subscribe(nil)
	defer sub.Close()
	web := newPod("web")
	could := true
	both := func() []string {
		reported, ok := s.GetReportedPodStatus(web.UID, func(types.UID) bool { return could })
		require.True(t, ok)
		u := sub.TakeAll(nil)[0]
		if could {
			u.HoldBackTerminalPhase()
		}
		assert.Equal(t, reported, u.Status)
		raw, _ := s.GetPodStatus(web.UID)
		return []string{string(raw.Phase) + " " + raw.Reason, string(reported.Phase) + " " + reported.Reason, fmt.Sprint(len(reported.Conditions))}
	}
	c := v1.ContainerStatus{Name: "c", ContainerID: "mem://1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	say := func(phase v1.PodPhase, reason string, c v1.ContainerStatus) {
		s.SetPodStatus(web, v1.PodStatus{Phase: phase, Reason: reason, ContainerStatuses: []v1.ContainerStatus{c}})
	}
	say(v1.PodRunning, "Because", c)
	assert.Equal(t, []string{"Running Because", "Running Because", "0"}, both())
	say(v1.PodFailed, "Evicted", c)
	assert.Equal(t, []string{"Failed Evicted", "Running Because", "2"}, both())
	c.Ready = true
	say(v1.PodFailed, "Evicted", c)
	assert.Equal(t, []string{"Failed Evicted", "Running Because", "2"}, both())
	c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137}}
	say(v1.PodFailed, "", c)
	assert.Equal(t, []string{"Failed Evicted", "Failed Evicted", "2"}, both(), "all have ended")

	s.ReplacePodStatus(web, v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", ContainerStatuses: []v1.ContainerStatus{{Name: "c"}}})
	assert.Equal(t, []string{"Failed Evicted", "Pending ", "2"}, both(), "nothing was said before")
	s.TerminatePod(web)
	assert.Equal(t, []string{"Failed Evicted", "Failed Evicted", "2"}, both(), "it is finished")
	_, ok := s.GetReportedPodStatus("unknown", func(types.UID) bool { return true })
	assert.False(t, ok)

	c.State = v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	s.ReplacePodStatus(web, v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{c}})
	say(v1.PodFailed, "Evicted", c)
	reported, _ := s.GetReportedPodStatus(web.UID, func(types.UID) bool {
		c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137}}
		say(v1.PodFailed, "Evicted", c)
		return false
	})
	assert.Equal(t, c.State, reported.ContainerStatuses[0].State, "what was said before nothing ran any more is not older")
}

// ST-17: by the UID of a mirror pod the end of its pod is held back as well.
func TestStore_ST17_ReportedByTheMirror(t *testing.T) {
	static, mirror := staticPod("static"), newPod("mirror", podmanager.ConfigMirrorAnnotation, "h")
	w := newHarness(static, mirror)
	w.SetPodStatus(static, runningStatus(true))
	failed := runningStatus(false)
	failed.Phase = v1.PodFailed
	w.SetPodStatus(static, failed)
	for _, uid := range []types.UID{"static", "mirror"} {
		reported, ok := w.GetReportedPodStatus(uid, func(uid types.UID) bool { return uid == "static" })
		require.True(t, ok)
		assert.Equal(t, v1.PodRunning, reported.Phase, uid)
	}
}

// Pods whose conditions are alike, to the second, share them; a change of one pod's, or of what
// a caller was given, reaches no other.
func TestStore_AlikeConditionsAreShared(t *testing.T) {
	a, b := newPod("a"), newPod("b")
	w := newHarness(a, b)
	stored := func(uid types.UID) (conditions []v1.PodCondition) {
		w.ReadPodStatus(uid, func(s *v1.PodStatus) { conditions = s.Conditions })
		return conditions
	}
	s := runningStatus(true)
	s.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.ContainersReady, Status: v1.ConditionTrue}}
	w.SetPodStatus(a, s)
	w.advanceClock(100 * time.Millisecond)
	w.SetPodStatus(b, s)
	require.Same(t, &stored("a")[0], &stored("b")[0])

	s.Conditions[1].Reason = "the caller's"
	given := w.mustGetStatus(t, "a")
	given.Conditions[0].Reason = "the caller's as well"
	w.SetContainerReadiness("a", "mem://1", false)
	assert.Equal(t, v1.ConditionFalse, readyConditionStatus(w.mustGetStatus(t, "a")))
	assert.Equal(t, v1.ConditionTrue, readyConditionStatus(w.mustGetStatus(t, "b")))
	assert.Empty(t, stored("b")[0].Reason+stored("b")[1].Reason)

	w.advanceClock(time.Second)
	w.ReplacePodStatus(a, runningStatus(true))
	w.ReplacePodStatus(b, runningStatus(true))
	assert.Empty(t, stored("a"))
}
