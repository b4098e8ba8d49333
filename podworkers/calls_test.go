package podworkers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

func TestRetry_B099_B102_DelayByError(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d) }
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		err   error
		after time.Duration
	}{
		"success":                      {nil, time.Minute},
		"plain":                        {boom, 10 * time.Second},
		"network":                      {fmt.Errorf("a: %w", errors.Join(boom, runtime.ErrNetworkNotReady)), time.Second},
		"network wins":                 {errors.Join(podworkers.RetryAfter(boom, at(7*time.Second)), runtime.ErrNetworkNotReady), time.Second},
		"an earlier call goes on":      {fmt.Errorf("a: %w", errors.Join(boom, runtime.ErrExists)), time.Second},
		"it goes on, and one asks":     {errors.Join(podworkers.RetryAfter(boom, at(7*time.Second)), runtime.ErrExists), time.Second},
		"it goes on, asked for that":   {podworkers.RetryAfter(fmt.Errorf("a: %w", runtime.ErrExists), at(7*time.Second)), 7 * time.Second},
		"it goes on, for good":         {podworkers.Terminal(runtime.ErrExists), time.Minute},
		"the runtime is unavailable":   {fmt.Errorf("a: %w", errors.Join(boom, runtime.ErrNotReady)), 10 * time.Second},
		"it is away, and one asks":     {errors.Join(podworkers.RetryAfter(boom, at(7*time.Second)), runtime.ErrNotReady), 7 * time.Second},
		"it is away, asked for now":    {errors.Join(podworkers.RetryAfter(boom, at(0)), runtime.ErrNotReady), time.Second},
		"it is away, for good":         {podworkers.Terminal(runtime.ErrNotReady), time.Minute},
		"asked":                        {podworkers.RetryAfter(boom, at(7*time.Second)), 7 * time.Second},
		"asked, wrapped":               {fmt.Errorf("a: %w", podworkers.RetryAfter(boom, at(7*time.Second))), 7 * time.Second},
		"asked, the earliest":          {errors.Join(podworkers.RetryAfter(boom, at(9*time.Second)), podworkers.RetryAfter(boom, at(7*time.Second))), 7 * time.Second},
		"asked, nested":                {podworkers.RetryAfter(podworkers.RetryAfter(boom, at(7*time.Second)), at(9*time.Second)), 7 * time.Second},
		"asked, beyond the resync":     {podworkers.RetryAfter(boom, at(time.Hour)), time.Minute},
		"terminal":                     {fmt.Errorf("a: %w", podworkers.Terminal(boom)), time.Minute},
		"terminal, both":               {errors.Join(podworkers.Terminal(boom), podworkers.Terminal(boom)), time.Minute},
		"terminal and not":             {errors.Join(podworkers.Terminal(boom), boom), 10 * time.Second},
		"cancelled, by no one we know": {fmt.Errorf("a: %w", context.Canceled), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			node := newSimulation(t, Config{})
			node.Syncer.Script("a", syncPod, Reply{Err: c.err}, Reply{})
			node.Create(Pod("a"))
			node.Advance(c.after - 1)
			assert.Len(t, uidsOf(node), 1)
			node.Advance(1)
			assert.Len(t, uidsOf(node), 2, "due is due, not a moment later")
		})
	}
}

func TestRetry_TerminalAndRetryAfterKeepNil(t *testing.T) {
	assert.NoError(t, podworkers.Terminal(nil))
	assert.NoError(t, podworkers.RetryAfter(nil, time.Now()))
	boom := errors.New("boom")
	assert.ErrorIs(t, podworkers.Terminal(boom), boom)
	assert.ErrorIs(t, podworkers.RetryAfter(boom, time.Now()), boom)
}

// A retry time that is not in the future would cause retries without a pause. The pause is a second
// instead, then two, four, eight and ten.
func TestRetry_B101_APastTimeDoesNotSpin(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Err: podworkers.RetryAfter(errors.New("boom"), time.Unix(0, 0))})
	node.Create(Pod("a"))
	for i, at := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		node.Advance(at*time.Second - 1)
		assert.Len(t, uidsOf(node), i+1)
		node.Advance(1)
		assert.Len(t, uidsOf(node), i+2)
	}
}

// A changed desired state may succeed at once, so the transient delay starts at its minimum again.
func TestRetry_TransientDelayResetsOnUpdate(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Err: runtime.ErrNetworkNotReady})
	node.Create(Pod("a"))
	node.Advance(7 * time.Second) // 0, 1, 3, 7
	require.Len(t, uidsOf(node), 4)
	node.Update(Pod("a"))
	node.Advance(3 * time.Second) // 7, 8, 10
	assert.Len(t, uidsOf(node), 7)
}

// Changes that a failed call has made do not end its backoff. Any other change ends it, and a change of the desired
// state too.
func TestRetry_TheEchoOfAFailedCallDoesNotShortenItsBackoff(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Err: errors.New("boom")})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	shows := func(containers ...runtime.ContainerStatus) {
		node.Cache.Set(&runtime.PodStatus{UID: "a", Sandboxes: []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}}}, Containers: containers})
		require.NoError(t, node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Observation: true, Pod: Pod("a")}))
		node.RunUntilIdle()
	}
	record := func(state runtime.State) runtime.ContainerStatus {
		return runtime.ContainerStatus{Container: runtime.Container{ID: "c", Name: "c", State: state}}
	}
	shows(record(runtime.StateCreated))
	shows()
	shows(record(runtime.StateCreated))
	assert.Len(t, uidsOf(node), 1, "records of the failed call")
	shows(record(runtime.StateRunning))
	assert.Len(t, uidsOf(node), 2, "it runs after all")
	shows(record(runtime.StateRunning))
	assert.Len(t, uidsOf(node), 2, "that is known")
	shows(record(runtime.StateExited))
	assert.Len(t, uidsOf(node), 3, "it has ended")
	node.Advance(10*time.Second - 1)
	assert.Len(t, uidsOf(node), 3)
	node.Advance(1)
	assert.Len(t, uidsOf(node), 4, "the backoff is over")
	require.NoError(t, node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Pod: Pod("a")}))
	node.RunUntilIdle()
	assert.Len(t, uidsOf(node), 5, "somebody asked")
	node.Kill(Pod("a"))
	node.RunUntilIdle()
	assert.Contains(t, node.Transcript(), "SyncTerminatingPod", "an end does not wait")
}

func TestRetry_I17_JitterOnlyAdds(t *testing.T) {
	node := newSimulation(t, Config{Jitter: func() float64 { return 0.5 }})
	node.Syncer.Script("a", syncPod, Reply{Err: errors.New("boom")})
	node.Create(Pod("a"))
	node.Advance(12500*time.Millisecond - 1)
	assert.Len(t, uidsOf(node), 1)
	node.Advance(1)
	assert.Len(t, uidsOf(node), 2)
}

// TestRetry_I17_RetryAtHasNoJitter: jitter delays a retry at the time that an error names,
// unless the error is marked with RetryAt. Then another error beside it that names an earlier time
// does not delay the retry.
func TestRetry_I17_RetryAtHasNoJitter(t *testing.T) {
	broken, epoch := errors.New("boom"), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(d time.Duration) error { return podworkers.RetryAfter(broken, epoch.Add(d)) }
	told := func(d time.Duration) error { return podworkers.RetryAt(broken, epoch.Add(d)) }
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"asked":                       {after(8 * time.Second), 12 * time.Second},
		"told":                        {told(8 * time.Second), 8 * time.Second},
		"told, and asked before":      {errors.Join(told(8*time.Second), after(6*time.Second)), 8 * time.Second},
		"told, and asked long before": {errors.Join(told(8*time.Second), after(2*time.Second)), 3 * time.Second},
		"told, and asked later":       {errors.Join(told(8*time.Second), after(9*time.Second)), 8 * time.Second},
		"after more than a resync":    {told(100 * time.Second), time.Minute},
	} {
		node := newSimulation(t, Config{Jitter: func() float64 { return 0.999999999 }})
		node.Syncer.Script("a", syncPod, Reply{Err: c.err})
		node.Create(Pod("a"))
		node.Advance(c.want - time.Millisecond)
		assert.Len(t, uidsOf(node), 1, name)
		node.Advance(time.Millisecond)
		assert.Len(t, uidsOf(node), 2, name)
	}
}

func TestRetry_I18_UpdateReplacesTheRetry(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Err: errors.New("boom")}, Reply{})
	node.Create(Pod("a", Version(1)))
	node.Advance(9 * time.Second)
	node.Update(Pod("a", Version(2)))
	node.Advance(time.Minute)
	requireTranscript(t, node, `
		0s       a  create v1
		0s       a  SyncPod create v1: boom
		9s       a  update v2
		9s       a  SyncPod update v2: ok
		1m9s     a  SyncPod sync v2: ok
	`)
}

// A retry of one pod must not be lost because Run sleeps until another's.
func TestRetry_AnEarlierOneWakesRun(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("b", syncPod, Reply{Err: errors.New("boom")}, Reply{})
	node.Create(Pod("a"))
	node.Advance(30 * time.Second)
	node.Create(Pod("b"))
	node.Advance(15 * time.Second)
	assert.Equal(t, []types.UID{"a", "b", "b"}, uidsOf(node))
}

func TestCancel_I20_OnlyTerminationCancelsACall(t *testing.T) {
	short := int64(5)
	for name, c := range map[string]struct {
		method int
		tell   func(node *Stepper)
		ends   bool
	}{
		"update":            {1, func(n *Stepper) { n.Update(Pod("a", Grace(30), Version(2))) }, false},
		"housekeeping":      {1, func(n *Stepper) { n.SyncKnown(Pod("a")) }, false},
		"another pod":       {1, func(n *Stepper) { n.Create(Pod("b")); n.Kill(Pod("b")) }, false},
		"kill":              {1, func(n *Stepper) { n.Kill(Pod("a", Grace(30))) }, true},
		"deletion":          {1, func(n *Stepper) { n.Update(Pod("a", Grace(30), Deleted(30))) }, true},
		"terminal phase":    {1, func(n *Stepper) { n.Update(Pod("a", Grace(30), Phase(v1.PodFailed))) }, true},
		"orphan":            {1, func(n *Stepper) { n.SyncKnown() }, true},
		"stop":              {1, func(n *Stepper) { n.Stop() }, true},
		"the same kill":     {2, func(n *Stepper) { n.Kill(Pod("a", Grace(30))) }, false},
		"a longer grace":    {2, func(n *Stepper) { n.KillWithin(Pod("a", Grace(30)), 60) }, false},
		"a shorter grace":   {2, func(n *Stepper) { n.KillWithin(Pod("a", Grace(30)), short) }, true},
		"a late update":     {2, func(n *Stepper) { n.Update(Pod("a", Grace(30))) }, false},
		"a second create":   {2, func(n *Stepper) { n.Create(Pod("a", Grace(30))) }, false},
		"deleted meanwhile": {2, func(n *Stepper) { n.Update(Pod("a", Grace(30), Deleted(2))) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := newSimulation(t, Config{})
			node.Create(Pod("a", Grace(30)))
			if c.method == 2 {
				node.RunUntilIdle()
				node.Kill(Pod("a", Grace(30)))
				node.Syncer.Script("a", syncTerminatingPod, Reply{Blocks: true}, Reply{})
			} else {
				node.Syncer.Script("a", syncPod, Reply{Blocks: true}, Reply{})
			}
			node.RunUntilIdle()
			c.tell(node)
			node.RunUntilIdle()
			assert.Equal(t, c.ends, countInTranscript(node, "context canceled") == 1, node.Transcript())
		})
	}
}

func TestKill_I7_AShorterGraceIsPassedOnAtOnce(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 30 * time.Second}, Reply{Takes: 5 * time.Second})
	node.Create(Pod("a", Grace(30)))
	node.RunUntilIdle()
	node.Kill(Pod("a", Grace(30)))
	node.Advance(time.Second)
	node.KillWithin(Pod("a", Grace(30)), 5)
	node.Advance(5 * time.Second)
	requireTranscript(t, node, `
		0s       a  create
		0s       a  SyncPod create: ok
		0s       a  kill
		0s       a  is terminating
		0s       a  SyncTerminatingPod within 30s ...
		1s       a  kill within 5s
		1s       a  ... SyncTerminatingPod within 30s: context canceled, after 1s
		1s       a  SyncTerminatingPod within 5s ...
		6s       a  ... SyncTerminatingPod within 5s: ok, after 5s
		6s       a  is terminated
		6s       a  SyncTerminatedPod: ok
		6s       a  is finished
	`)
}

// The kill of a pod that waits for a fresh status must not call SyncPod first, even if the status
// arrives at the same moment.
func TestKill_I2_BeforeTheCall(t *testing.T) {
	for seed := range uint64(20) {
		node := newSimulation(t, Config{Seed: seed})
		node.Cache.SetLatency(time.Second)
		node.Create(Pod("a"))
		node.RunUntilIdle()
		node.Go(func(context.Context) { node.Kill(Pod("a")) })
		node.Advance(time.Minute)
		assert.Equal(t, 0, countInTranscript(node, "SyncPod"))
		assert.Equal(t, 1, countInTranscript(node, "is finished"))
	}
}

func TestPanic_I50_IsThatPodsErrorAlone(t *testing.T) {
	log := &lines{}
	node := newSimulation(t, Config{Log: log.newLogger()})
	node.Syncer.Script("bad", syncPod, Reply{Panic: "boom"}, Reply{})
	node.Syncer.Script("bad", syncTerminatingPod, Reply{Panic: errors.New("boom")}, Reply{})
	node.Syncer.Script("bad", syncTerminatedPod, Reply{Panic: "boom"}, Reply{})
	node.Create(Pod("bad"), Pod("good"))
	node.Advance(15 * time.Second)
	node.Kill(Pod("bad"))
	node.Advance(30 * time.Second)
	assert.Equal(t, 3, countInTranscript(node, "panicked"))
	assert.Equal(t, 1, countInTranscript(node, "bad   is finished"))
	assert.Equal(t, 1, countInTranscript(node, "good  SyncPod create: ok"))
	require.Len(t, log.allLines(), 6, "the stack and the error, once each")
	assert.Contains(t, log.allLines()[0], `msg="a panic was contained" call=PodSyncer.SyncPod panic=boom stack=`)
	assert.Contains(t, log.allLines()[1], `msg="a sync failed" pod=default/bad uid=bad call=SyncPod err="PodSyncer.SyncPod panicked: boom"`)
}

// An error that only names a retry time is logged at debug level; a failure beside it is not.
func TestLogSyncError_RetryTimeIsDebug(t *testing.T) {
	log := &lines{}
	node := newSimulation(t, Config{Log: log.newLogger()})
	wait := podworkers.RetryAfter(errors.New("back-off"), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	node.Syncer.Script("a", syncPod,
		Reply{Err: fmt.Errorf("c: %w", wait)},
		Reply{Err: errors.Join(wait, errors.New("boom"))},
		Reply{Err: errors.Join(wait, wait)},
		Reply{})
	node.Create(Pod("a"))
	node.Advance(10 * time.Minute)
	assert.Equal(t, 4, countInTranscript(node, "back-off"), "two of them in the third")
	require.Len(t, log.allLines(), 1)
	assert.Contains(t, log.allLines()[0], `level=ERROR msg="a sync failed"`)
	assert.Contains(t, log.allLines()[0], "boom")
}

// The events that a recorder was given.
type events struct{ list []string }

func (e *events) Event(_ k8sObject, kind, reason, message string) {
	e.list = append(e.list, kind+" "+reason+" "+message)
}

func (e *events) Eventf(o k8sObject, kind, reason, format string, args ...any) {
	e.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func TestObserve_B085_ASickRuntimeStopsStartsAndNotKills(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Cache.Set(RunningStatus("a"))
	node.Cache.Fail("a", errors.New("runtime is down"))
	node.Create(Pod("a"))
	node.Advance(15 * time.Second)
	assert.Empty(t, uidsOf(node), "not synced")
	var seen *runtime.PodStatus
	node.Syncer.Script("a", syncTerminatingPod, Reply{Do: func(_ context.Context, c Call) { seen = c.Status }})
	killed := node.Kill(Pod("a"))
	node.Advance(time.Minute)
	assert.Equal(t, RunningStatus("a"), seen, "what was last seen")
	assert.NoError(t, killed.Err())
	assertResolved(t, killed)
	assert.Equal(t, 0, countInTranscript(node, "SyncTerminatedPod"), "cleanup waits")
	node.Cache.Fail("a", nil)
	node.Advance(10 * time.Second)
	assert.Equal(t, 1, countInTranscript(node, "is finished"))
}

// A status that hangs must not block the termination's own wait for a status.
func TestWaitForFreshStatus_KillCancelsTheWait(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Cache.Hang("a")
	node.Create(Pod("a"), Pod("b"))
	node.Advance(time.Second)
	assert.Equal(t, []types.UID{"b"}, uidsOf(node), "I39: nobody else waits")
	node.Kill(Pod("a"))
	node.Advance(time.Second)
	assert.Equal(t, 0, countInTranscript(node, "SyncTerminatingPod"), "it waits for its own")
	node.Cache.Resume("a")
	node.RunUntilIdle()
	assert.Equal(t, 1, countInTranscript(node, "a  is finished"))
}

func TestSync_B079_ResyncHasTheLastMirrorPod(t *testing.T) {
	node := newSimulation(t, Config{})
	var mirrors []*v1.Pod
	node.Syncer.Script("a", syncPod, Reply{Do: func(_ context.Context, c Call) { mirrors = append(mirrors, c.Mirror) }})
	mirror := Pod("a", UID("m"), Mirror())
	_ = node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod("a", Static()), MirrorPod: mirror})
	node.RunUntilIdle()
	_ = node.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: Pod("a", Static())})
	node.RunUntilIdle()
	node.Advance(time.Minute)
	require.Len(t, mirrors, 3)
	assert.Same(t, mirror, mirrors[0])
	assert.Nil(t, mirrors[1], "an update speaks for itself")
	assert.Same(t, mirror, mirrors[2], "a replay remembers")
}

func TestKill_B089_TheLastStatusFunctionCounts(t *testing.T) {
	node := newSimulation(t, Config{})
	var got []string
	node.Syncer.Script("a", syncTerminatingPod, Reply{Err: errors.New("busy"), Do: func(_ context.Context, c Call) {
		status := v1.PodStatus{}
		if c.PodStatusFunc != nil {
			c.PodStatusFunc(&status)
		}
		got = append(got, status.Reason)
	}})
	statusFunc := func(reason string) *podworkers.KillPodOptions {
		return &podworkers.KillPodOptions{Evict: true, PodStatusFunc: func(s *v1.PodStatus) { s.Reason = reason }}
	}
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Kill(Pod("a"))
	node.RunUntilIdle()
	node.KillPod(podworkers.UpdatePodOptions{Pod: Pod("a"), KillPodOptions: statusFunc("first")})
	node.RunUntilIdle()
	node.KillPod(podworkers.UpdatePodOptions{Pod: Pod("a"), KillPodOptions: statusFunc("second")})
	node.RunUntilIdle()
	node.Update(Pod("a"))
	node.RunUntilIdle()
	assert.Equal(t, []string{"", "first", "second", "second"}, got)
	assert.True(t, node.Workers.View("a").ShouldPodContentBeRemoved(), "B-121: evicted")
}

func TestSync_F91_UpdatesOfABusyPodAreOne(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Takes: 30 * time.Second}, Reply{})
	node.Create(Pod("a", Version(1)))
	node.RunUntilIdle()
	for i := range int64(9_999) {
		_ = node.Workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: Pod("a", Version(i))})
	}
	node.Update(Pod("a", Version(9999)))
	node.Advance(30 * time.Second)
	requireTranscript(t, node, `
		0s       a  create v1
		0s       a  SyncPod create v1 ...
		0s       a  update v9999
		30s      a  ... SyncPod create v1: ok, after 30s
		30s      a  SyncPod update v9999: ok
	`)
}

func TestConfig_RetryIsUsed(t *testing.T) {
	node := newSimulation(t, Config{Retry: backoff.Retry{Resync: 5 * time.Second}})
	node.Create(Pod("a"))
	node.Advance(20 * time.Second)
	assert.Len(t, uidsOf(node), 5)
}

// When the runtime answers, it wakes a pod that waits because the runtime did not answer before,
// even if the pod has a retry time. It does not wake a pod that waits for another reason.
func TestRetry_B102_RuntimeAnswerWakesThePod(t *testing.T) {
	away := fmt.Errorf("a: %w", runtime.ErrNotReady)
	asked := podworkers.RetryAfter(errors.New("boom"), time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC))
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Err: away}, Reply{Err: away}, Reply{})
	node.Syncer.Script("b", syncPod, Reply{Err: errors.Join(asked, away)}, Reply{})
	node.Syncer.Script("c", syncPod, Reply{Err: errors.New("boom")}, Reply{})
	pods := []types.UID{"a", "b", "c"}
	tell := func(err error) {
		node.Advance(time.Second)
		for _, uid := range pods {
			node.Workers.Observed(uid, err)
		}
		node.RunUntilIdle()
	}
	for _, uid := range pods {
		node.Create(Pod(string(uid)))
	}
	tell(runtime.ErrNotReady)
	assert.Len(t, uidsOf(node), 3)
	tell(nil)
	assert.ElementsMatch(t, []types.UID{"a", "b"}, uidsOf(node)[3:])
	tell(nil)
	assert.Len(t, uidsOf(node), 5, "once is enough: it was not silent")
	assert.Equal(t, 12*time.Second, node.Workers.Outlook("a").NextAt.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), "the backoff is what it was")
}

// A status that could not be read is a failure of the same kind.
func TestRetry_B102_RuntimeAnswerWakesAfterStatusError(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Cache.Fail("a", fmt.Errorf("pleg: %w", runtime.ErrNotReady))
	node.Create(Pod("a"))
	node.Advance(2 * time.Second)
	assert.Empty(t, uidsOf(node))
	node.Cache.Fail("a", nil)
	node.Workers.Observed("a", nil)
	node.RunUntilIdle()
	assert.Equal(t, []types.UID{"a"}, uidsOf(node))
}

// unreadable is an error whose Error method panics.
type unreadable struct{}

func (unreadable) Error() string { panic("no text") }

// An error whose Error method panics is the error of that call, like any other panic.
func TestPanic_I50_OfTheErrorOfASyncer(t *testing.T) {
	log := &lines{}
	node := newSimulation(t, Config{Log: log.newLogger()})
	node.Syncer.Script("bad", syncPod, Reply{Err: unreadable{}}, Reply{})
	node.Create(Pod("bad"))
	node.Advance(15 * time.Second)
	require.Len(t, log.allLines(), 2, "the stack and the error, once each")
	assert.Contains(t, log.allLines()[1], `err="PodSyncer.SyncPod error panicked: no text"`)
	assert.Equal(t, 1, countInTranscript(node, "bad  SyncPod create: ok")+countInTranscript(node, "bad  SyncPod sync: ok"))
}
