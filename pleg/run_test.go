package pleg_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// joinLines formats a transcript as it stands in a test.
func joinLines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestRun_B192_FirstAtOnceThenAPauseAfterEach(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.mu.listTakes = 300 * time.Millisecond
	b.startPLEG()
	b.runUntilSecond(4)
	assert.Equal(t, joinLines(
		" 0.000 list",
		" 1.300 list",
		" 2.600 list",
		" 3.900 list",
	), b.harness.takeTranscript())
}

func TestRun_B179_B182_B185_PodLifecycle(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.setContainer("a", "c", runtime.StateCreated)
	b.runUntilSecond(1.5)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.runUntilSecond(2.5)
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.harness.setContainer("a", "d", runtime.StateRunning)
	b.runUntilSecond(4.5)
	b.harness.setContainer("a", "c", runtime.StateUnknown)
	b.harness.setContainer("a", "d", runtime.StateUnknown)
	b.runUntilSecond(6.5)
	assert.Equal(t, joinLines(
		" 0.000 list",
		" 1.000 list",
		" 1.000 inspect a",
		" 1.000 tell a PodSync", // created: the event table has no event for it, but the status has changed
		" 2.000 list",
		" 2.000 inspect a",
		" 2.000 tell a ContainerStarted",
		" 3.000 list",
		" 3.000 inspect a",
		" 3.000 tell a ContainerStarted|ContainerDied",
		" 4.000 list",
		" 5.000 list",
		" 5.000 inspect a",
		" 5.000 tell a ContainerDied|ContainerRemoved",
		" 6.000 list",
	), b.harness.takeTranscript())
	status, err := b.pleg.Get("a")
	require.NoError(t, err)
	assert.Equal(t, &runtime.PodStatus{UID: "a"}, status)
}

// A pod hangs, a container of another exits, a reader waits for a third: the hanging pod delays
// neither the listings nor the others.
func TestRun_I39_F54_HungPodDelaysNoOther(t *testing.T) {
	for seed := range uint64(20) {
		b := newPlainSimulation(t, seed)
		b.harness.setContainer("a", "ca", runtime.StateRunning)
		b.harness.setContainer("b", "cb", runtime.StateRunning)
		b.harness.mu.hang["a"] = true
		b.startPLEG()
		b.runUntilSecond(0.5)
		require.Equal(t, joinLines(
			" 0.000 inspect a",
			" 0.000 inspect b",
			" 0.000 list",
			" 0.000 tell b ContainerStarted",
		), sortLines(b.harness.takeTranscript()), "seed %d", seed)
		b.startReader(b.ctx, "a")
		b.startReader(b.ctx, "b")
		b.runUntilSecond(0.6)
		b.harness.setContainer("b", "cb", runtime.StateExited)
		b.runUntilSecond(2.5)
		require.Equal(t, joinLines(
			" 0.500 inspect b",
			" 0.500 reader of b: [cb running]",
			" 1.000 list",
			" 1.000 inspect b",
			" 1.000 tell b ContainerDied",
			" 2.000 list",
		), b.harness.takeTranscript(), "seed %d", seed)
		b.runUntilSecond(9.5)
		b.harness.takeTranscript()
		// The reader arrived during the first inspection, so only the second one, which begins when
		// the first has failed, satisfies it.
		b.runUntilSecond(10)
		require.Contains(t, b.harness.takeTranscript(), joinLines("10.000 tell a PodSync", "10.000 inspect a"))
		_, err := b.pleg.Get("a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		b.harness.withLock(func() { b.harness.mu.hang["a"] = false })
		b.runUntilSecond(19.5)
		b.harness.takeTranscript()
		b.runUntilSecond(21.5)
		got := b.harness.takeTranscript()
		require.Contains(t, got, "20.000 reader of a: pleg: inspect: context deadline exceeded\n")
		require.Contains(t, got, "inspect a\n")
		require.Contains(t, got, "tell a ContainerStarted\n", "seed %d: withheld until it could be read", seed)
		healthy, err := b.pleg.Healthy()
		require.True(t, healthy, "%v", err)
	}
}

// Any number of hanging pods leaves slots for the others.
func TestRun_I39_ManyHungPods(t *testing.T) {
	b := newPlainSimulation(t, 1)
	for i := range 100 {
		uid := types.UID(fmt.Sprintf("hung%02d", i))
		b.harness.setContainer(uid, "c"+string(uid), runtime.StateRunning)
		b.harness.mu.hang[uid] = true
	}
	b.harness.setContainer("b", "cb", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(140) // Each of them has timed out once.
	b.harness.takeTranscript()
	for at := 150.0; at < 160; at++ {
		b.runUntilSecond(at)
		b.harness.takeTranscript()
		b.startReader(b.ctx, "b")
		b.runUntilSecond(at)
		assert.Contains(t, b.harness.takeTranscript(), fmt.Sprintf("%.3f reader of b: [cb running]", at))
	}
	assert.Equal(t, 8, b.harness.mu.most)
}

func TestRun_F54_HungListHoldsUpNoReader(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.setContainer("b", "cb", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.mu.hangLists = true
	b.runUntilSecond(60)
	b.harness.takeTranscript()
	b.startReader(b.ctx, "b")
	b.runUntilSecond(60)
	assert.Equal(t, joinLines("60.000 inspect b", "60.000 reader of b: [cb running]"), b.harness.takeTranscript())
	healthy, err := b.pleg.Healthy()
	require.True(t, healthy, "%v", err)
	b.runUntilSecond(181)
	_, err = b.pleg.Healthy()
	require.EqualError(t, err, "pleg: the last listing that succeeded began 3m1s ago, threshold is 3m0s; "+
		"a listing has been under way for 59s: pleg: list: context deadline exceeded")
	b.harness.mu.hangLists = false
	b.runUntilSecond(243)
	healthy, err = b.pleg.Healthy()
	require.True(t, healthy, "%v", err)
}

func TestRun_B172_I47_NothingIsConcludedFromAnError(t *testing.T) {
	b := newPlainSimulation(t, 1)
	_, err := b.pleg.Healthy()
	require.EqualError(t, err, "pleg: no listing has succeeded yet; no listing has begun since")
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.mu.listErr = runtime.ErrNotReady
	b.harness.mu.fail["a"] = runtime.ErrNotReady
	b.harness.takeTranscript()
	b.runUntilSecond(9.5)
	assert.NotContains(t, b.harness.takeTranscript(), "tell")
	status, err := b.pleg.Get("a")
	require.NoError(t, err)
	assert.Equal(t, "[c running]", formatStatus(status))
	assert.Len(t, b.pleg.Pods(), 1)

	b.startReader(b.ctx, "a")
	b.runUntilSecond(9.5)
	assert.Contains(t, b.harness.takeTranscript(), "reader of a: pleg: inspect: runtime: not ready")
	status, err = b.pleg.Get("a")
	require.ErrorIs(t, err, runtime.ErrNotReady)
	assert.Equal(t, "[c running]", formatStatus(status), "the last that could be read")

	b.harness.mu.listErr, b.harness.mu.fail["a"] = nil, nil
	b.runUntilSecond(11)
	assert.Contains(t, b.harness.takeTranscript(), "tell a PodSync")
}

// A caller that takes an empty status for an empty pod would conclude at the start of an agent that
// no container runs.
func TestGet_I47_UnobservedIsNotEmpty(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.harness.mu.hang["a"] = true
	for _, uid := range []types.UID{"a", "nobody"} {
		status, err := b.pleg.Get(uid)
		require.ErrorIs(t, err, pleg.ErrUnobserved)
		assert.Equal(t, &runtime.PodStatus{UID: uid}, status)
	}
	b.startPLEG()
	b.runUntilSecond(0.5)
	_, err := b.pleg.Get("a")
	require.ErrorIs(t, err, pleg.ErrUnobserved, "it is listed, and its first inspection has not come back")
	_, err = b.pleg.Get("nobody")
	require.NoError(t, err, "absence from a listing is an observation")
}

func TestNewerThan_I25_EveryEndWakesTheReader(t *testing.T) {
	t.Run("success", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.setContainer("a", "c", runtime.StateRunning)
		b.startReader(b.ctx, "a")
		b.runUntilSecond(0.5)
		assert.Empty(t, b.harness.takeTranscript(), "B-161: nothing has been observed yet")
		b.startPLEG()
		b.runUntilSecond(0.5)
		assert.Contains(t, b.harness.takeTranscript(), " 0.500 reader of a: [c running]\n")
	})
	t.Run("error", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.mu.fail["a"] = runtime.ErrNotReady
		b.startPLEG()
		b.startReader(b.ctx, "a")
		b.runUntilSecond(0)
		assert.Contains(t, b.harness.takeTranscript(), " 0.000 reader of a: pleg: inspect: runtime: not ready\n")
	})
	t.Run("ctx", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.mu.hang["a"] = true
		b.startPLEG()
		ctx := executor.NewContext(context.Background())
		b.startReader(ctx, "a")
		b.runUntilSecond(3)
		b.harness.takeTranscript()
		ctx.Cancel(context.Canceled)
		b.runUntilSecond(3)
		assert.Equal(t, " 3.000 reader of a: context canceled\n", b.harness.takeTranscript())
	})
	t.Run("deletion", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.setContainer("a", "c", runtime.StateRunning)
		b.harness.mu.statusTakes = 100 * time.Millisecond
		b.startPLEG()
		b.runUntilSecond(0.5)
		b.startReader(b.ctx, "a")
		b.harness.setContainer("a", "c", runtime.StateUnknown)
		b.runUntilSecond(0.6)
		assert.Contains(t, b.harness.takeTranscript(), " 0.600 reader of a: []\n")
	})
	t.Run("end of Run", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.mu.hang["a"] = true
		b.startPLEG()
		b.startReader(context.Background(), "a")
		b.runUntilSecond(3)
		b.harness.takeTranscript()
		b.ctx.Cancel(context.Canceled)
		b.runUntilSecond(3)
		assert.Equal(t, " 3.000 reader of a: pleg: stopped\n", b.harness.takeTranscript())
		_, err := b.pleg.NewerThan(context.Background(), "a", b.pleg.Mark())
		require.ErrorIs(t, err, pleg.ErrStopped)
		assert.True(t, b.ran)
		require.NoError(t, b.err, "cancellation is no error")
		require.ErrorIs(t, b.pleg.Run(b.ctx), runtime.ErrSecondRun)
	})
	t.Run("crash", func(t *testing.T) {
		b := newPlainSimulation(t, 1)
		b.harness.mu.hang["a"] = true
		b.startPLEG()
		b.startReader(b.ctx, "a")
		b.runUntilSecond(3)
		b.process.Crash()
		assert.Contains(t, b.harness.takeTranscript(), "reader of a: executor: the process has crashed\n")
		assert.Zero(t, b.process.Running())
	})
}

// A mark above all observations counts as the newest one, and does not make the loop spin.
func TestNewerThan_MarkFromTheFuture(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.process.Go(func() {
		_, err := b.pleg.NewerThan(b.ctx, "a", ^uint64(0))
		b.harness.recordCall(fmt.Sprint("answered ", err))
	})
	b.runUntilSecond(0.5)
	assert.Equal(t, joinLines(" 0.000 list", " 0.500 inspect a", " 0.500 answered <nil>"), b.harness.takeTranscript())
}

// B-215: an outdated listing does not satisfy a caller that has just changed the pod and has called
// RequestRelist.
func TestRequestRelist_LaggingListDoesNotCount(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.mu.frozen = b.harness.listLocked()
	b.harness.setContainer("a", "d", runtime.StateRunning)
	b.harness.mu.hang["a"] = true
	b.pleg.RequestRelist("a")
	b.startReader(b.ctx, "a")
	b.runUntilSecond(5)
	assert.NotContains(t, b.harness.takeTranscript(), "reader")
	b.harness.mu.hang["a"] = false
	b.runUntilSecond(12)
	assert.Contains(t, b.harness.takeTranscript(), "reader of a: pleg: inspect: context deadline exceeded")
	b.startReader(b.ctx, "a")
	b.runUntilSecond(12)
	assert.Contains(t, b.harness.takeTranscript(), "reader of a: [c running, d running]")
}

// F93: ten thousand containers exit at the same instant.
func TestRun_F93_Herd(t *testing.T) {
	const n = 10_000
	b := newPlainSimulation(t, 1)
	for i := range n {
		b.harness.setContainer(types.UID(fmt.Sprint(i)), fmt.Sprint("c", i), runtime.StateRunning)
	}
	b.startPLEG()
	b.runUntilSecond(0.5)
	second := b.pleg.Subscribe(nil)
	assert.Len(t, second.TakeAll(nil), n, "a subscription begins with what is known")
	for i := range n {
		b.harness.setContainer(types.UID(fmt.Sprint(i)), fmt.Sprint("c", i), runtime.StateExited)
	}
	b.harness.mu.statusTakes = time.Millisecond
	b.runUntilSecond(5)
	changes := second.TakeAll(nil)
	require.Len(t, changes, n)
	for _, c := range changes {
		require.Equal(t, pleg.ContainerDied, c.Events)
	}
	assert.Equal(t, 8, b.harness.mu.most)
	// Inspections that were running when the next listing began may be too old for it.
	assert.LessOrEqual(t, strings.Count(b.harness.takeTranscript(), "inspect"), 2*n+8*3)
}

func TestSubscribe_EverySubscriberGetsEveryPod(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	slow := b.pleg.Subscribe(nil)
	gone := b.pleg.Subscribe(nil)
	gone.Close()
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.harness.setContainer("b", "d", runtime.StateRunning)
	b.runUntilSecond(1.5)
	b.harness.setContainer("a", "c", runtime.StateUnknown)
	b.runUntilSecond(2.5)
	assert.Equal(t, []pleg.Change{
		{UID: "a", Events: pleg.ContainerStarted | pleg.ContainerDied | pleg.ContainerRemoved},
		{UID: "b", Events: pleg.ContainerStarted},
	}, slow.TakeAll(nil), "merged per pod, in order of the first change")
	assert.Empty(t, slow.TakeAll(nil))
	assert.Empty(t, gone.TakeAll(nil))
	late := b.pleg.Subscribe(nil)
	assert.Equal(t, []pleg.Change{{UID: "b", Events: pleg.PodSync}}, late.TakeAll(nil))
}

func TestRequestRelist_B187_InspectsAtOnce(t *testing.T) {
	b, _ := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(20)
	b.harness.takeTranscript()
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.pleg.RequestRelist("a")
	b.pleg.RequestRelist("a")
	b.pleg.RequestRelist("")
	b.runUntilSecond(21)
	assert.Equal(t, joinLines("20.000 inspect a", "20.000 tell a ContainerDied"), b.harness.takeTranscript())
	b.pleg.RequestRelist("a")
	b.runUntilSecond(21)
	assert.Equal(t, joinLines("21.000 inspect a"), b.harness.takeTranscript(), "nothing new makes no event")
}

// newStreamingSimulation returns a simulation over a harness with an event stream.
func newStreamingSimulation(t *testing.T, seed uint64) (*simulation, *streamer) {
	var s *streamer
	b := newSimulation(t, seed, func(clk clock.Clock) (pleg.Config, *harness) {
		s = newStreamer(clk)
		return pleg.Config{Runtime: s}, s.harness
	})
	return b, s
}

func TestRun_I49_HealthyStreamLeavesTheSafetyNet(t *testing.T) {
	b, _ := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(11)
	b.harness.takeTranscript()
	b.runUntilSecond(131)
	assert.Equal(t, joinLines(
		"39.000 list", // The stream has been open for ten seconds; the last listing before was at nine.
		"69.000 list",
		"99.000 list",
		"129.000 list",
	), b.harness.takeTranscript())
}

// Only inspections are stored and announced (B-211). An event of the stream only requests an
// inspection (D-6).
func TestRun_B211_B212_EventsAreHintsAndNothingElse(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(15.5)
	b.harness.takeTranscript()
	b.harness.setContainer("a", "c", runtime.StateExited)
	for _, at := range []time.Time{{}, start.Add(-time.Hour), start.Add(1000 * time.Hour)} { // F66
		s.sink(runtime.Event{UID: "a", ContainerID: "c", At: at})
	}
	s.sink(runtime.Event{UID: "a", ContainerID: "no such"})
	s.sink(runtime.Event{UID: "nobody"})
	s.sink(runtime.Event{})
	b.runUntilSecond(16.5)
	assert.Equal(t, joinLines(
		"15.500 inspect a",
		"15.500 inspect nobody",
		"15.500 tell a ContainerDied",
	), sortLines(b.harness.takeTranscript()))
}

// sortLines sorts the lines of a transcript, for events at the same time.
func sortLines(transcript string) string {
	return strings.Join(slices.Sorted(strings.Lines(transcript)), "")
}

// After five failures in a row the stream is still opened again, with growing pauses. While it is
// closed there is a listing every second.
func TestRun_F65_BrokenStream(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	s.ended.Signal()
	b.startPLEG()
	for at := 0.0; at < 60; at += 0.05 {
		b.runUntilSecond(at)
		s.ended.Signal()
	}
	opened := s.count
	assert.InDelta(t, 6+50/5, opened, 3, "100 ms, doubling to 5 s")
	assert.InDelta(t, 60, b.harness.countCalls("list"), 2)

	// It is open again: one event shows that, and the pause is short again.
	b.runUntilSecond(70)
	for s.count == opened {
		opened = s.count
		b.runUntilSecond(b.Now().Sub(start).Seconds() + 1)
	}
	s.sink(runtime.Event{UID: "a"})
	before := b.harness.countCalls("list")
	now := b.Now().Sub(start).Seconds()
	b.runUntilSecond(now + 25)
	assert.InDelta(t, 1, b.harness.countCalls("list")-before, 1, "the stream has delivered an event, so the next listing is 30 s later")
	b.harness.takeTranscript()
	opened = s.count
	s.ended.Signal()
	b.runUntilSecond(now + 25.2)
	assert.Equal(t, opened+1, s.count, "100 ms later it is open again")
	assert.Contains(t, b.harness.takeTranscript(), "list", "what was lost meanwhile is listed")
}

// A runtime without a stream is asked again from time to time, because another runtime may have
// replaced it. Meanwhile its pods are listed (F64).
func TestRun_F64_NoStream(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	s.none = true
	b.startPLEG()
	b.runUntilSecond(10 * 60)
	assert.InDelta(t, 10, s.count, 1)
	assert.InDelta(t, 10*60, b.harness.countCalls("list"), 5)
	s.none = false
	b.runUntilSecond(12 * 60)
	before := b.harness.countCalls("list")
	b.runUntilSecond(14 * 60)
	assert.InDelta(t, 4, b.harness.countCalls("list")-before, 1, "the stream has been opened, and stands")
}

func TestRun_F65_FloodOfOnePod(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(20)
	before := b.harness.countCalls("inspect a")
	for i := range 10_000 {
		b.RunUntil(start.Add(20*time.Second + time.Duration(i)*100*time.Microsecond))
		s.sink(runtime.Event{UID: "a"})
	}
	b.runUntilSecond(22)
	assert.LessOrEqual(t, b.harness.countCalls("inspect a")-before, 13)
	b.harness.setContainer("a", "c", runtime.StateExited)
	s.sink(runtime.Event{UID: "a"})
	b.runUntilSecond(23.1)
	status, _ := b.pleg.Get("a")
	assert.Equal(t, "[c exited]", formatStatus(status))
}

// A failed inspection is retried after a second even if the next listing is half a minute away.
func TestRun_B184_RetryDoesNotWaitForTheNextListing(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(20)
	b.harness.takeTranscript()
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.harness.mu.fail["a"] = runtime.ErrNotReady
	s.sink(runtime.Event{UID: "a"})
	b.runUntilSecond(21.5)
	b.harness.mu.fail["a"] = nil
	b.runUntilSecond(25)
	assert.Equal(t, joinLines(
		"20.000 inspect a",
		"20.000 tell a PodSync",
		"21.000 inspect a",
		"22.000 inspect a",
		"22.000 tell a ContainerDied",
	), b.harness.takeTranscript())
}

// A container has failed, and the runtime finds out later that it was OOM killed. Neither an event
// nor a listing shows that. So the pod is inspected once more, but not for ever.
func TestRun_OOMReasonArrivesLate(t *testing.T) {
	b, _ := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(11.5)
	b.harness.takeTranscript()
	b.harness.withLock(func() { b.harness.mu.reasons["c"] = "Error" })
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.pleg.RequestRelist("a")
	b.runUntilSecond(11.7)
	b.harness.withLock(func() { b.harness.mu.reasons["c"] = "OOMKilled" })
	b.runUntilSecond(20)
	assert.Equal(t, joinLines(
		"11.500 inspect a",
		"11.500 tell a ContainerDied",
		"12.500 inspect a",
		"12.500 tell a PodSync",
	), b.harness.takeTranscript())
	status, err := b.pleg.Get("a")
	require.NoError(t, err)
	assert.Equal(t, "OOMKilled", status.Containers[0].Reason)
}

// A container that failed under an earlier agent is not inspected again.
func TestRun_OldFailuresAreNotInspectedAgain(t *testing.T) {
	b, _ := newStreamingSimulation(t, 1)
	b.harness.withLock(func() { b.harness.mu.reasons["c"] = "Error" })
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.startPLEG()
	b.runUntilSecond(8)
	assert.Equal(t, 1, b.harness.countCalls("inspect a"))
}

// A record has vanished, which needs no sync, and another one has changed, which needs one.
func TestRun_B178_WhatIsLostHidesNoChange(t *testing.T) {
	b := newPlainSimulation(t, 1)
	b.harness.withLock(func() { b.harness.mu.reasons["c"], b.harness.mu.reasons["d"] = "OOMKilled", "OOMKilled" })
	b.harness.setContainer("a", "c", runtime.StateExited)
	b.harness.setContainer("a", "d", runtime.StateExited)
	b.startPLEG()
	b.runUntilSecond(0.5)
	b.harness.takeTranscript()
	b.harness.setContainer("a", "c", runtime.StateUnknown) // Each change is visible in the message of the remaining container.
	b.runUntilSecond(1.5)
	assert.Equal(t, joinLines(" 1.000 list", " 1.000 inspect a", " 1.000 tell a ContainerRemoved|PodSync"), b.harness.takeTranscript())
}

// TestMuseum_K121349_AnEventIsAHint: the kubelet stored the state of an event as the pod's state,
// although it was older than the last listing, and a listing marked pods as fresh that it had not
// inspected. Containers were lost, or started twice. Here an event only requests an inspection, and
// only inspections count. (Also 123087, 120942.)
func TestMuseum_K121349_AnEventIsAHint(t *testing.T) {
	b, s := newStreamingSimulation(t, 1)
	b.harness.setContainer("a", "c", runtime.StateRunning)
	b.startPLEG()
	b.runUntilSecond(15.5)
	b.harness.takeTranscript()
	for _, at := range []time.Time{{}, start.Add(-time.Hour), start.Add(1000 * time.Hour)} {
		s.sink(runtime.Event{UID: "a", ContainerID: "c", At: at})
	}
	b.runUntilSecond(16.5)
	assert.Equal(t, "15.500 inspect a\n", b.harness.takeTranscript(), "nothing has changed, and nothing is told")
	b.harness.setContainer("a", "c", runtime.StateExited)
	s.sink(runtime.Event{UID: "a", ContainerID: "c", At: start.Add(-time.Hour)})
	b.runUntilSecond(17.5)
	assert.Equal(t, joinLines("16.500 inspect a", "16.500 tell a ContainerDied"), sortLines(b.harness.takeTranscript()))
}
