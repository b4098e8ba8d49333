package syncloop_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
)

// limited is a loop with deadlines, and workers that record their calls.
type limited struct {
	podworkers.PodWorkers
	t         *testing.T
	manager   *podmanager.Store
	status    *status.Store
	mu        sync.Mutex // guards the table
	table     *lifecycle.Table
	out       lifecycle.Effects
	refuse    error
	amend     podworkers.PodStatusFunc
	notes     []string
	deadlines *syncloop.Deadlines
	loop      *syncloop.Loop
}

func newLimited(t *testing.T) *limited {
	l := &limited{t: t, manager: podmanager.New(), status: status.New(status.Config{}), table: lifecycle.New()}
	var err error
	l.deadlines, err = syncloop.NewDeadlines(syncloop.DeadlinesConfig{Desired: l.manager, Workers: l, Status: l.status, Recorder: l})
	require.NoError(t, err)
	observer, err := pleg.New(pleg.Config{Runtime: memory.New(memory.Config{})})
	require.NoError(t, err)
	l.loop, err = syncloop.New(syncloop.Config{
		Handler: printer{}, Updates: &desire{}, Desired: l.manager, Changes: observer, Deadlines: l.deadlines,
	})
	require.NoError(t, err)
	return l
}

func (l *limited) View(uid types.UID) lifecycle.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.View(uid)
}

func (l *limited) updatePod(uid types.UID, what podworkers.SyncPodType) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.table.Update(lifecycle.Update{UID: uid, Type: what, Subject: lifecycle.ConfigPod}, &l.out)
	return err
}

func (l *limited) UpdatePod(o podworkers.UpdatePodOptions) error {
	if l.refuse != nil {
		return l.refuse
	}
	l.addLine("%s %s", o.UpdateType, o.Pod.UID)
	if o.KillPodOptions != nil {
		assert.Nil(l.t, o.KillPodOptions.PodTerminationGracePeriodSecondsOverride, "the pod's own grace counts")
		l.amend = o.KillPodOptions.PodStatusFunc
	}
	return l.updatePod(o.Pod.UID, o.UpdateType)
}

func (l *limited) addLine(format string, args ...any) {
	now := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	l.notes = append(l.notes, fmt.Sprint(now, " ", fmt.Sprintf(format, args...)))
}

func (l *limited) Event(o k8sruntime.Object, kind, reason, message string) {
	l.addLine("event %s %s %s: %s", o.(*v1.Pod).UID, kind, reason, message)
}

func (l *limited) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	l.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

// addPod makes a pod desired with a deadline. A pod without a worker gets one.
func (l *limited) addPod(uid types.UID, seconds *int64) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: string(uid), Namespace: "ns"}}
	pod.Spec.ActiveDeadlineSeconds = seconds
	l.manager.UpdatePod(pod)
	if !l.View(uid).Known {
		require.NoError(l.t, l.updatePod(uid, podworkers.SyncPodCreate))
	}
	l.deadlines.RequestUpdate(uid)
	return pod
}

// setStartTime sets the start time in the pod's status to now.
func (l *limited) setStartTime(pod *v1.Pod) {
	l.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	l.deadlines.RequestUpdate(pod.UID)
}

// runStory runs the loop together with a story, in a bubble.
func (l *limited) runStory(story func()) {
	ctx, end := context.WithCancel(l.t.Context())
	done := make(chan error)
	go func() { done <- l.loop.Run(ctx) }()
	story()
	end()
	assert.NoError(l.t, <-done)
}

const exceeded = "DeadlineExceeded: Pod was active on the node longer than the specified deadline"

func TestDeadlines_AD1_P23(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		l.runStory(func() {
			l.setStartTime(l.addPod("later", new(int64(20))))
			l.setStartTime(l.addPod("sooner", new(int64(10))))
			l.setStartTime(l.addPod("never", nil))
			l.addPod("unstarted", new(int64(1)))
			time.Sleep(time.Hour)
		})
		assert.Equal(t, []string{
			"10s event sooner Normal " + exceeded, "10s kill sooner",
			"20s event later Normal " + exceeded, "20s kill later",
		}, l.notes, "each once, and not before")
		status := v1.PodStatus{Phase: v1.PodRunning}
		l.amend(&status)
		assert.Equal(t, "Failed DeadlineExceeded Pod was active on the node longer than the specified deadline []", describeEnd(status))
	})
}

func describeEnd(s v1.PodStatus) string {
	return fmt.Sprint(s.Phase, " ", s.Reason, " ", s.Message, " ", s.Conditions)
}

// TestDeadlines_F25: a deadline that is zero, negative, huge, moved in both directions, or removed.
func TestDeadlines_F25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		l.runStory(func() {
			l.setStartTime(l.addPod("huge", new(int64(math.MaxInt64))))
			l.setStartTime(l.addPod("lowest", new(int64(math.MinInt64))))
			synctest.Wait()
			l.setStartTime(l.addPod("zero", new(int64(0))))
			l.setStartTime(l.addPod("raised", new(int64(10))))
			l.setStartTime(l.addPod("lowered", new(int64(100))))
			l.setStartTime(l.addPod("freed", new(int64(10))))
			time.Sleep(5 * time.Second)
			l.addPod("raised", new(int64(20)))
			l.addPod("lowered", new(int64(3)))
			l.addPod("freed", nil)
			time.Sleep(time.Hour)
		})
		assert.Equal(t, []string{
			"0s event lowest Normal " + exceeded, "0s kill lowest",
			"0s event zero Normal " + exceeded, "0s kill zero",
			"5s event lowered Normal " + exceeded, "5s kill lowered",
			"20s event raised Normal " + exceeded, "20s kill raised",
		}, l.notes)
	})
}

// TestDeadlines_TerminalPodHasNoDeadline: a pod has no deadline if it terminates, is terminal, was removed, or if its
// stored status belongs to the previous incarnation.
func TestDeadlines_TerminalPodHasNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		var reused *v1.Pod
		l.runStory(func() {
			pods := map[types.UID]*v1.Pod{}
			for _, uid := range []types.UID{"ending", "succeeded", "dropped", "unknown", "reused"} {
				pods[uid] = l.addPod(uid, new(int64(10)))
				l.setStartTime(pods[uid])
			}
			synctest.Wait()
			require.NoError(t, l.updatePod("ending", podworkers.SyncPodKill))
			l.status.SetPodStatus(pods["succeeded"], v1.PodStatus{Phase: v1.PodSucceeded})
			l.manager.RemovePod(pods["dropped"])
			reused = pods["reused"].DeepCopy() // A static pod's phase stays as it was.
			reused.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: "file"}
			l.manager.UpdatePod(reused)
			l.status.TerminatePod(reused)
			for uid := range pods {
				l.deadlines.RequestUpdate(uid)
			}
			time.Sleep(30 * time.Second)
			l.status.ReplacePodStatus(reused, v1.PodStatus{Phase: v1.PodRunning})
			l.deadlines.RequestUpdate("reused")
			time.Sleep(time.Hour)
		})
		assert.Equal(t, []string{"10s event unknown Normal " + exceeded, "10s kill unknown", "40s event reused Normal " + exceeded, "40s kill reused"}, l.notes)
	})
}

// TestDeadlines_Refused: workers that refuse the termination are called once. The event says only that the
// deadline has passed.
func TestDeadlines_Refused(t *testing.T) {
	for _, refuse := range []error{podworkers.ErrStopped, errors.New("no")} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimited(t)
			l.refuse = refuse
			l.runStory(func() {
				l.setStartTime(l.addPod("web", new(int64(10))))
				time.Sleep(time.Hour)
			})
			assert.Equal(t, []string{"10s event web Normal " + exceeded}, l.notes)
		})
	}
}

func TestNewDeadlines_NamesEveryFault(t *testing.T) {
	_, err := syncloop.NewDeadlines(syncloop.DeadlinesConfig{})
	require.EqualError(t, err, "syncloop: DeadlinesConfig.Desired is missing\n"+
		"syncloop: DeadlinesConfig.Workers is missing\nsyncloop: DeadlinesConfig.Status is missing")
}

// TestDeadlines_TerminatingPodHasNoEntry: a terminating pod has no entry, so nothing is due.
func TestDeadlines_TerminatingPodHasNoEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		l.setStartTime(l.addPod("web", new(int64(10))))
		l.loop.Step(t.Context())
		time.Sleep(time.Second)
		next, timed := l.loop.Step(t.Context())
		require.True(t, timed)
		assert.Equal(t, 9*time.Second, time.Until(next))
		require.NoError(t, l.updatePod("web", podworkers.SyncPodKill))
		l.deadlines.RequestUpdate("web")
		_, timed = l.loop.Step(t.Context())
		assert.False(t, timed)
	})
}

// TestDeadlines_MovedWithoutRequestUpdate: an entry is due, and the deadline of its pod has just moved without a call of
// RequestUpdate.
func TestDeadlines_MovedWithoutRequestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		l.runStory(func() {
			pod := l.addPod("web", new(int64(10)))
			l.setStartTime(pod)
			time.Sleep(time.Second)
			pod = pod.DeepCopy()
			pod.Spec.ActiveDeadlineSeconds = new(int64(15))
			l.manager.UpdatePod(pod)
			time.Sleep(time.Hour)
		})
		assert.Equal(t, []string{"15s event web Normal " + exceeded, "15s kill web"}, l.notes)
	})
}

// TestDeadlines_BesideHousekeeping: deadlines do not wait for housekeeping, nor housekeeping for deadlines.
func TestDeadlines_BesideHousekeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		l.runStory(func() {
			l.setStartTime(l.addPod("web", new(int64(1))))
			time.Sleep(500 * time.Millisecond)
			l.loop.RequestHousekeeping() // The next one is due two seconds after the last.
			time.Sleep(time.Minute)
		})
		assert.Equal(t, []string{"1s event web Normal " + exceeded, "1s kill web"}, l.notes)
	})
}
