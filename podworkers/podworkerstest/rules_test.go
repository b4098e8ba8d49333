package podworkerstest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Events of pod a.
func beginTimes(method lifecycle.Kind) Event {
	e := Event{What: Begun, UID: "a", Incarnation: 1, Method: method}
	if method == lifecycle.SyncPod {
		e.Type = podworkers.SyncPodCreate
	}
	return e
}

func ended(method lifecycle.Kind, err error) Event {
	return Event{What: Ended, UID: "a", Incarnation: 1, Method: method, Err: err}
}
func entered(phase lifecycle.Phase) Event {
	return Event{What: Entered, UID: "a", Incarnation: 1, Phase: phase}
}

var (
	created = Event{What: Updated, UID: "a", Type: podworkers.SyncPodCreate}
	killed  = Event{What: Updated, UID: "a", Type: podworkers.SyncPodKill}
	boom    = errors.New("boom")
)

func at(d time.Duration, e Event) Event          { e.At = d; return e }
func version(v int64, e Event) Event             { e.Version = v; return e }
func incarnationHistory(n uint64, e Event) Event { e.Incarnation = n; return e }
func within(seconds int64, e Event) Event        { e.Grace = lifecycle.Seconds(seconds); return e }
func synced() []Event {
	return []Event{created, beginTimes(lifecycle.SyncPod), ended(lifecycle.SyncPod, nil)}
}
func after(events []Event, e ...Event) []Event { return append(events, e...) }

// Each rule has a trace that violates only this rule.
func TestRules_EachViolationIsDetected(t *testing.T) {
	static := Event{What: Updated, UID: "a", FullName: "web_default"}
	twin := Event{What: Updated, UID: "b", FullName: "web_default"}
	for rule, events := range map[string][]Event{
		"I1":       {created, beginTimes(lifecycle.SyncPod), beginTimes(lifecycle.SyncPod)},
		"I2":       {created, entered(lifecycle.Terminating), beginTimes(lifecycle.SyncPod)},
		"I3":       {created, entered(lifecycle.Terminated), entered(lifecycle.Terminating)},
		"I3 twice": {created, entered(lifecycle.Terminated), entered(lifecycle.Terminated)},
		"I3 early": {created, beginTimes(lifecycle.SyncTerminatingPod)},
		"I4":       {created, entered(lifecycle.Terminating), beginTimes(lifecycle.SyncTerminatedPod)},
		"I5":       after(synced(), killed, entered(lifecycle.Terminating), entered(lifecycle.Terminated)),
		"I6": after(synced(), killed, entered(lifecycle.Terminating), within(5, beginTimes(lifecycle.SyncTerminatingPod)),
			ended(lifecycle.SyncTerminatingPod, boom), at(time.Minute, within(6, beginTimes(lifecycle.SyncTerminatingPod)))),
		"I6 zero": after(synced(), killed, entered(lifecycle.Terminating), within(0, beginTimes(lifecycle.SyncTerminatingPod))),
		"I10":     after(synced()[:1], version(2, beginTimes(lifecycle.SyncPod)), ended(lifecycle.SyncPod, nil), created, version(1, beginTimes(lifecycle.SyncPod))),
		"I11":     {static, beginTimes(lifecycle.SyncPod), twin, {What: Begun, UID: "b", Incarnation: 1, Method: lifecycle.SyncPod}},
		"I13":     after(synced(), created, incarnationHistory(2, beginTimes(lifecycle.SyncPod))),
		"I13 old": {created, incarnationHistory(2, beginTimes(lifecycle.SyncPod)), ended(lifecycle.SyncPod, nil), killed, entered(lifecycle.Terminating)},
		"I14":     {{What: Updated, UID: "a", Running: true, Type: podworkers.SyncPodKill}, beginTimes(lifecycle.SyncPod)},
		"I17":     {created, beginTimes(lifecycle.SyncPod), ended(lifecycle.SyncPod, boom), at(time.Second, beginTimes(lifecycle.SyncPod))},
		"I17 ok":  after(synced(), at(59*time.Second, beginTimes(lifecycle.SyncPod))),
		"I21":     {created, beginTimes(lifecycle.SyncPod), {What: Forgotten, UID: "a"}},
	} {
		t.Run(rule, func(t *testing.T) {
			err := Rules{}.Check(events)
			require.Error(t, err)
			assert.Equal(t, strings.Fields(rule)[0], strings.SplitN(err.Error(), ":", 2)[0], err.Error())
			assert.NotContains(t, err.Error(), "\n", "one thing is wrong, and is named once")
		})
	}
}

func TestRules_AtTheEnd(t *testing.T) {
	for rule, events := range map[string][]Event{
		"I8":  {version(2, created), version(1, beginTimes(lifecycle.SyncPod)), ended(lifecycle.SyncPod, nil)},
		"I17": {created, beginTimes(lifecycle.SyncPod), ended(lifecycle.SyncPod, boom)},
		"I19": {created, beginTimes(lifecycle.SyncPod)},
	} {
		require.NoError(t, Rules{}.Check(events), rule)
		require.ErrorContains(t, Rules{Until: 2 * time.Minute}.Check(events), rule+": ")
	}
}

func TestRules_ACrashMakesAllNew(t *testing.T) {
	require.NoError(t, Rules{}.Check([]Event{
		created, beginTimes(lifecycle.SyncPod), {What: Crashed}, created, beginTimes(lifecycle.SyncPod),
	}))
}

func TestTrace_Format(t *testing.T) {
	assert.Equal(t, `0s       a    create v1
0s       a    SyncPod create v1 ...
1s       web  kill running pod within 3s
2s       a    ... SyncPod create v1: boom, after 2s
2s       a#2  SyncPod create: ok, completed
2s            desired: [a]
2s       a    refused: boom
2s            stop
2s            crash
`, Format([]Event{
		version(1, created),
		version(1, Event{What: Begun, UID: "a", Incarnation: 1, Method: lifecycle.SyncPod, Type: podworkers.SyncPodCreate}),
		at(time.Second, within(3, Event{What: Updated, UID: "web", Type: podworkers.SyncPodKill, Running: true})),
		at(2*time.Second, version(1, Event{What: Ended, UID: "a", Incarnation: 1, Method: lifecycle.SyncPod, Type: podworkers.SyncPodCreate, Err: boom})),
		at(2*time.Second, Event{What: Begun, UID: "a", Incarnation: 2, Method: lifecycle.SyncPod, Type: podworkers.SyncPodCreate}),
		at(2*time.Second, Event{What: Ended, UID: "a", Incarnation: 2, Method: lifecycle.SyncPod, Type: podworkers.SyncPodCreate, Ends: true}),
		at(2*time.Second, Event{What: Housekeeping, Desired: []types.UID{"a"}}),
		at(2*time.Second, Event{What: Refused, UID: "a", Err: boom}),
		at(2*time.Second, Event{What: Stopped}),
		at(2*time.Second, Event{What: Crashed}),
	}))
}

// A panic reaches the caller, and is recorded.
func TestTrace_RecordsAPanic(t *testing.T) {
	trace, syncer := NewTrace(nil), NewSyncer(nil)
	syncer.Script("a", lifecycle.SyncTerminatedPod, Reply{Panic: "boom"})
	assert.PanicsWithValue(t, "boom", func() {
		_ = trace.WrapSyncer(syncer).SyncTerminatedPod(context.Background(), Pod("a"), nil)
	})
	assert.EqualError(t, trace.Events()[1].Err, "panicked")
}

func TestSyncer_TheMoreParticularScriptCounts(t *testing.T) {
	s := NewSyncer(clock.RealClock{})
	s.Script("", 0, Reply{Err: errors.New("any")})
	s.Script("", lifecycle.SyncPod, Reply{Err: errors.New("any SyncPod")})
	s.Script("a", 0, Reply{Err: errors.New("all of a")})
	s.Script("a", lifecycle.SyncPod, Reply{Err: errors.New("first")}, Reply{Ends: true})
	sync := func(pod *v1.Pod) (bool, error) {
		return s.SyncPod(context.Background(), podworkers.SyncPodSync, pod, nil, nil)
	}
	for range 2 {
		_, err := sync(Pod("b"))
		assert.EqualError(t, err, "any SyncPod")
		assert.EqualError(t, s.SyncTerminatedPod(context.Background(), Pod("b"), nil), "any")
		assert.EqualError(t, s.SyncTerminatedPod(context.Background(), Pod("a"), nil), "all of a")
	}
	_, err := sync(Pod("a"))
	assert.EqualError(t, err, "first")
	for range 2 {
		ends, err := sync(Pod("a"))
		assert.True(t, ends && err == nil, "the last one repeats")
	}
}

func TestCache_EveryReaderObserves(t *testing.T) {
	c := NewCache(nil)
	status, err := c.NewerThan(context.Background(), "a", c.Mark())
	require.NoError(t, err)
	assert.Empty(t, status.Containers)
	assert.EqualValues(t, 1, c.Observed("a"))
	c.Set(RunningStatus("a"))
	status, err = c.NewerThan(context.Background(), "a", c.Mark())
	require.NoError(t, err)
	assert.Len(t, status.Containers, 1)
	c.Fail("a", boom)
	_, err = c.NewerThan(context.Background(), "a", c.Mark())
	require.ErrorIs(t, err, boom)
	assert.EqualValues(t, 2, c.Observed("a"))
	c.Hang("b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.NewerThan(ctx, "b", 0)
	require.ErrorIs(t, err, context.Canceled)
	c.Resume("b")
	_, err = c.NewerThan(context.Background(), "b", 0)
	require.NoError(t, err)
}
