package syncloop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is a loop with all its dependencies. The handler records its calls with their times, and runs
// functions of the test.
type bench struct {
	settled  func() bool // nil: the first snapshots are there
	executor executor.Executor
	begun    time.Time
	loop     *syncloop.Loop
	desired  *podmanager.Store
	pleg     *pleg.PLEG
	stream   *stream
	machine  *machine

	mu struct {
		sync.Mutex
		lines []string
		on    map[string]func() error // by the word for a call
		steps int
	}
}

func newBench(clk clock.Clock) *bench {
	b := &bench{executor: executor.Over(clk), desired: podmanager.New(), machine: &machine{}}
	b.begun = b.executor.Now()
	b.mu.on = map[string]func() error{}
	b.stream = &stream{bench: b}
	var err error
	if b.pleg, err = pleg.New(pleg.Config{Runtime: b.machine, Clock: clk}); err != nil {
		panic(err)
	}
	b.loop, err = syncloop.New(syncloop.Config{
		Handler: b, Updates: b.stream, Desired: b.desired, Changes: b.pleg, Readiness: b, Clock: clk,
		ReadyToStart: func() bool { return b.settled == nil || b.settled() },
		Hooks: syncloop.Hooks{Cleanup: func(took time.Duration, err error) {
			if err != nil {
				line, _, _ := strings.Cut(err.Error(), "\n")
				b.addLine("cleanup failed after %s: %s", took, line)
			}
		}},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// addPods makes pods desired without the loop.
func (b *bench) addPods(uids ...types.UID) {
	for _, uid := range uids {
		b.desired.AddPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: string(uid), Namespace: "ns"}})
	}
}

func (b *bench) addLine(format string, args ...any) {
	at := b.executor.Now().Sub(b.begun).Seconds()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.lines = append(b.mu.lines, fmt.Sprintf("%.1f ", at)+fmt.Sprintf(format, args...))
}

// takeLines returns the calls since the last takeLines.
func (b *bench) takeLines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.mu.lines
	b.mu.lines = nil
	return lines
}

// countSteps returns the number of started steps.
func (b *bench) countSteps() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.steps
}

// onCall sets a function that a call of the handler runs once.
func (b *bench) onCall(word string, f func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.on[word] = f
}

func (b *bench) recordCall(word string, pods []*v1.Pod) error {
	if pods == nil {
		b.addLine("%s", word)
	} else {
		b.addLine("%s %s", word, joinUIDs(pods))
	}
	b.mu.Lock()
	f := b.mu.on[word]
	delete(b.mu.on, word)
	b.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

func (b *bench) HandlePodAdditions(_ context.Context, pods []*v1.Pod) {
	_ = b.recordCall("additions", pods)
}
func (b *bench) HandlePodUpdates(_ context.Context, pods []*v1.Pod) {
	_ = b.recordCall("updates", pods)
}
func (b *bench) HandlePodRemoves(_ context.Context, pods []*v1.Pod) {
	_ = b.recordCall("removes", pods)
}
func (b *bench) HandlePodReconcile(_ context.Context, pods []*v1.Pod) {
	_ = b.recordCall("reconcile", pods)
}
func (b *bench) HandlePodSyncs(_ context.Context, pods []*v1.Pod) { _ = b.recordCall("syncs", pods) }
func (b *bench) HandlePodCleanups(context.Context) error          { return b.recordCall("cleanups", nil) }

func (b *bench) SetContainerReadiness(uid types.UID, id string, ready bool) {
	b.addLine("readiness %s/%s %t", uid, id, ready)
}

func (b *bench) SetContainerStartup(uid types.UID, id string, started bool) {
	b.addLine("startup %s/%s %t", uid, id, started)
}

// stream is a source.Mux whose updates the test sets.
type stream struct {
	bench *bench
	mu    sync.Mutex
	wake  func()
	next  []podmanager.PodUpdate
}

func (s *stream) SetWake(wake func()) { s.wake = wake }

func (s *stream) TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate {
	s.bench.mu.Lock()
	s.bench.mu.steps++
	s.bench.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	buf, s.next = append(buf, s.next...), nil
	return buf
}

// deliverUpdates delivers updates of a source. Without updates it only wakes the loop.
func (s *stream) deliverUpdates(updates ...podmanager.PodUpdate) {
	s.mu.Lock()
	s.next = append(s.next, updates...)
	s.mu.Unlock()
	s.wake()
}

func newUpdate(op podmanager.PodOperation, uids ...types.UID) podmanager.PodUpdate {
	u := podmanager.PodUpdate{Op: op, Source: "api"}
	for _, uid := range uids {
		u.Pods = append(u.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
	}
	return u
}

// machine is a runtime that shows containers and runs none.
type machine struct {
	mu   sync.Mutex
	pods []runtime.Pod
}

// setStates gives every pod one container in a state. "gone" means no container.
func (m *machine) setStates(states ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods = nil
	for _, s := range states {
		uid, word, _ := strings.Cut(s, "=")
		p := runtime.Pod{UID: types.UID(uid)}
		if word != "gone" {
			state := map[string]runtime.State{"running": runtime.StateRunning, "exited": runtime.StateExited}[word]
			p.Containers = []runtime.Container{{ID: "c", Name: "c", State: state}}
		}
		m.pods = append(m.pods, p)
	}
}

func (m *machine) ListPods(context.Context) ([]runtime.Pod, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pods, nil
}

func (m *machine) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := &runtime.PodStatus{UID: uid}
	for _, p := range m.pods {
		if p.UID == uid {
			for _, c := range p.Containers {
				status.Containers = append(status.Containers, runtime.ContainerStatus{Container: c})
			}
		}
	}
	return status, nil
}

// simulation is a bench in one goroutine.
type simulation struct {
	*bench
	*executor.Scheduler
	process *executor.Process
	ctx     context.Context
	end     context.CancelFunc
	ran     bool
}

func newSimulation(t *testing.T) *simulation {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	b.bench = newBench(b.process.Clock())
	b.ctx, b.end = executor.WithCancel(t.Context())
	t.Cleanup(func() {
		b.end()
		b.RunUntilIdle()
		assert.Zero(t, b.process.Running(), "nothing is left behind")
	})
	return b
}

func (b *simulation) startLoop() {
	b.process.Go(func() {
		_ = b.loop.Run(b.ctx)
		b.ran = true
	})
	b.RunUntilIdle()
}

// runUntilSecond runs the simulation until a number of seconds after its start.
func (b *simulation) runUntilSecond(seconds float64) {
	b.RunUntil(start.Add(time.Duration(seconds * float64(time.Second))))
}

// relistMachine makes the PLEG list the machine.
func (b *simulation) relistMachine(t *testing.T) {
	var err error
	b.process.Go(func() { err = b.pleg.Relist(b.ctx) })
	b.RunUntilIdle()
	require.NoError(t, err)
}

// One step handles all events that can wake the loop, in the fixed order. A pod that is not desired is not
// synced (SL-9, SL-13).
func TestStep_B138_B142_B143_SL7_SL9_TheOrder(t *testing.T) {
	b := newSimulation(t)
	b.addPods("changed", "probed", "requested", "lost")
	b.machine.setStates("lost=exited")
	b.relistMachine(t)
	b.loop.Step(b.ctx)
	b.takeLines()

	b.loop.RequestSync("nobody")
	b.loop.RequestSync("requested")
	b.loop.RequestSync("requested")
	b.loop.AddProbeResult(syncloop.ProbeResult{UID: "probed", ContainerID: "c", Probe: syncloop.Liveness})
	b.machine.setStates("lost=gone", "stranger=running", "changed=running")
	b.relistMachine(t)
	b.runUntilSecond(10)
	b.stream.deliverUpdates(
		newUpdate(podmanager.REMOVE, "a"), newUpdate(podmanager.ADD, "b", "c"), newUpdate(podmanager.UPDATE, "b", "d"), newUpdate(podmanager.DELETE, "e"),
		newUpdate(podmanager.RECONCILE, "f"), newUpdate(podmanager.SET, "g"), newUpdate(podmanager.ADD),
	)
	b.runUntilSecond(11)
	next, timed := b.loop.Step(b.ctx)
	assert.Equal(t, []string{
		"11.0 removes [a]",
		"11.0 updates [d]",
		"11.0 updates [e]",
		"11.0 reconcile [f]",
		"11.0 additions [b c]",
		"11.0 updates [b]",
		"11.0 syncs [changed]",
		"11.0 syncs [probed]",
		"11.0 syncs [requested]",
		"11.0 cleanups",
	}, b.takeLines())
	assert.False(t, timed, "there is nothing to wait for, but %s", next)
	assert.Equal(t, 2, b.countSteps())
}

// SL-12: a success of a liveness probe has no effect; the other results are first stored. SL-13: a removed pod
// is not synced, but its readiness is stored. Of several results of one probe the newest counts, at the
// position of the first.
func TestProbed_SL12_SL13(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a", "b")
	b.loop.Step(b.ctx)
	for _, r := range []syncloop.ProbeResult{
		{UID: "a", ContainerID: "c1", Probe: syncloop.Readiness},
		{UID: "b", ContainerID: "c1", Probe: syncloop.Startup, Success: true},
		{UID: "a", ContainerID: "c1", Probe: syncloop.Startup},
		{UID: "a", ContainerID: "c2", Probe: syncloop.Readiness},
		{UID: "gone", ContainerID: "c1", Probe: syncloop.Readiness, Success: true},
		{UID: "gone", ContainerID: "c1", Probe: syncloop.Liveness},
		{UID: "b", ContainerID: "c1", Probe: syncloop.Liveness, Success: true},
		{UID: "b", ContainerID: "c2", Probe: syncloop.Liveness},
		{UID: "a", ContainerID: "c1", Probe: syncloop.Readiness, Success: true},
	} {
		b.loop.AddProbeResult(r)
	}
	b.loop.Step(b.ctx)
	b.loop.Step(b.ctx)
	assert.Equal(t, []string{
		"0.0 readiness a/c1 true", "0.0 syncs [a]",
		"0.0 startup b/c1 true", "0.0 syncs [b]",
		"0.0 startup a/c1 false", "0.0 syncs [a]",
		"0.0 readiness a/c2 false", "0.0 syncs [a]",
		"0.0 readiness gone/c1 true",
		"0.0 syncs [b]",
	}, b.takeLines())
}

// A probe result wakes the loop, and an equal result after it wakes it too.
func TestRun_SL12_EachResultCausesASync(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a")
	b.startLoop()
	b.runUntilSecond(10)
	b.takeLines()
	for range 2 {
		b.loop.AddProbeResult(syncloop.ProbeResult{UID: "a", ContainerID: "c", Probe: syncloop.Liveness})
		b.RunUntilIdle()
		assert.Equal(t, []string{"10.0 syncs [a]"}, b.takeLines())
	}
}

// Housekeeping runs shortly after a change and handles all changes until then. The next one runs after the
// period, and only after a change.
func TestRun_B128_CadenceOfHousekeeping(t *testing.T) {
	b := newSimulation(t)
	b.startLoop()
	b.runUntilSecond(10)
	assert.Equal(t, []string{"0.1 cleanups"}, b.takeLines(), "the first look around")

	b.loop.RequestHousekeeping()
	b.runUntilSecond(10.05)
	b.loop.RequestHousekeeping()
	b.runUntilSecond(11)
	b.loop.RequestHousekeeping() // Too early for another.
	b.runUntilSecond(11.5)
	b.loop.RequestHousekeeping()
	b.runUntilSecond(20)
	assert.Equal(t, []string{"10.1 cleanups", "12.1 cleanups"}, b.takeLines())

	b.stream.deliverUpdates()
	b.runUntilSecond(21)
	assert.Equal(t, []string{"20.1 cleanups"}, b.takeLines(), "a source has become complete, and nothing else is new")

	b.machine.setStates("stranger=running")
	b.relistMachine(t)
	b.runUntilSecond(30)
	assert.Equal(t, []string{"22.1 cleanups"}, b.takeLines(), "housekeeping handles a pod that is not desired")
}

// A housekeeping that fails or panics is repeated after a period, until it succeeds (I50).
func TestRun_I50_HousekeepingIsRepeatedAfterAnError(t *testing.T) {
	b := newSimulation(t)
	b.onCall("cleanups", func() error { return errors.New("no") })
	b.startLoop()
	b.runUntilSecond(1)
	b.onCall("cleanups", func() error { panic("oh") })
	b.runUntilSecond(10)
	assert.Equal(t, []string{
		"0.1 cleanups", "0.1 cleanup failed after 0s: no",
		"2.1 cleanups", "2.1 cleanup failed after 0s: SyncHandler.HandlePodCleanups panicked: oh",
		"4.1 cleanups",
	}, b.takeLines())
}

// The period starts at the end of a housekeeping, so that slow housekeepings leave time for other work.
func TestRun_B135_SlowHousekeeping(t *testing.T) {
	b := newSimulation(t)
	b.onCall("cleanups", func() error {
		b.loop.RequestHousekeeping() // What changes meanwhile may not have been seen.
		return b.executor.Sleep(b.ctx, 5*time.Second)
	})
	b.startLoop()
	b.runUntilSecond(60)
	assert.Equal(t, []string{"0.1 cleanups", "7.1 cleanups"}, b.takeLines())
}

// A panic of a handler loses one call and does not stop the loop. Housekeeping repeats the lost work (I50).
func TestRun_I50_PanicOfAHandlerIsContained(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a")
	b.startLoop()
	b.runUntilSecond(10)
	b.takeLines()
	b.onCall("additions", func() error { panic("oh") })
	b.onCall("syncs", func() error { panic("oh") })
	b.stream.deliverUpdates(newUpdate(podmanager.ADD, "a"), newUpdate(podmanager.UPDATE, "a"))
	b.RunUntilIdle()
	assert.Equal(t, []string{"10.0 additions [a]", "10.0 updates [a]"}, b.takeLines())
	b.runUntilSecond(20)
	b.takeLines()
	b.loop.RequestSync("a")
	b.runUntilSecond(30)
	assert.Equal(t, []string{"20.0 syncs [a]", "20.1 cleanups"}, b.takeLines(), "a sync alone is no change")
}

// Events that arrive during a step are not lost, even if a handler of the step causes them. They are handled
// after the handlers have returned. The same holds for events during housekeeping: one goroutine handles all
// of them (SL-1, HC-1).
func TestRun_I40_NothingIsLostDuringAStep(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a", "b", "c")
	b.startLoop()
	b.runUntilSecond(10)
	b.takeLines()
	b.onCall("syncs", func() error {
		b.loop.RequestSync("b")
		b.loop.AddProbeResult(syncloop.ProbeResult{UID: "c", Probe: syncloop.Liveness})
		b.stream.deliverUpdates(newUpdate(podmanager.ADD, "d"))
		return nil
	})
	b.onCall("cleanups", func() error {
		b.loop.RequestHousekeeping()
		b.loop.RequestSync("c")
		return nil
	})
	b.loop.RequestSync("a")
	b.runUntilSecond(30)
	assert.Equal(t, []string{
		"10.0 syncs [a]", "10.0 additions [d]", "10.0 syncs [c]", "10.0 syncs [b]",
		"10.1 cleanups", "10.1 syncs [c]", "12.1 cleanups",
	}, b.takeLines())
}

// A change costs two steps, one for itself and one for housekeeping; an hour without a change costs none.
func TestRun_I49_AnIdleLoopDoesNothing(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a")
	b.startLoop()
	b.runUntilSecond(60)
	idle := b.countSteps()
	assert.Equal(t, 2, idle)
	b.runUntilSecond(3660)
	assert.Equal(t, idle, b.countSteps(), "an hour of nothing")
	b.stream.deliverUpdates(newUpdate(podmanager.ADD, "a"))
	b.runUntilSecond(3720)
	assert.Equal(t, idle+2, b.countSteps())
	b.machine.setStates("a=running")
	b.relistMachine(t)
	b.runUntilSecond(3780)
	assert.Equal(t, idle+4, b.countSteps())
	_, armed := b.NextTimer()
	assert.False(t, armed, "no timer either")
}

// B-145: a step that does not return is unhealthy; hours without a step are healthy.
func TestHealthy_B145_StuckStep(t *testing.T) {
	b := newSimulation(t)
	b.startLoop()
	b.runUntilSecond(7200)
	require.NoError(t, b.loop.Healthy(), "idle")
	b.onCall("syncs", func() error { return b.executor.Sleep(b.ctx, time.Hour) })
	b.addPods("a")
	b.loop.RequestSync("a")
	b.runUntilSecond(7200 + 300)
	require.NoError(t, b.loop.Healthy(), "five minutes are allowed")
	b.runUntilSecond(7200 + 301)
	require.EqualError(t, b.loop.Healthy(), "syncloop: one step has been running for 5m1s")
	require.EqualError(t, b.loop.Stuck(), "syncloop: one step has been running for 5m1s")
	b.runUntilSecond(7200 + 3601)
	require.NoError(t, b.loop.Healthy())
}

// Run returns when its context is cancelled, between two steps, and closes its subscription.
func TestRun_EndsWithItsContext(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a")
	b.startLoop()
	b.runUntilSecond(10)
	b.end()
	b.RunUntilIdle()
	require.True(t, b.ran)
	b.takeLines()
	steps := b.countSteps()
	b.loop.RequestSync("a")
	b.loop.RequestHousekeeping()
	b.machine.setStates("a=running")
	b.ctx = context.Background()
	b.relistMachine(t)
	b.runUntilSecond(20)
	assert.Empty(t, b.takeLines())
	b.loop.Step(b.ctx)
	assert.Equal(t, []string{"20.0 syncs [a]", "20.0 cleanups"}, b.takeLines(), "the poke, not the change: the subscription is closed")
	assert.Equal(t, steps+1, b.countSteps())
}

func TestRun_AnEndedContextBeginsNothing(t *testing.T) {
	b := newSimulation(t)
	b.end()
	b.startLoop()
	assert.True(t, b.ran)
	assert.Zero(t, b.countSteps())
}

// A crash stops the loop where it waits.
func TestRun_CrashUnwinds(t *testing.T) {
	b := newSimulation(t)
	b.startLoop()
	b.runUntilSecond(1)
	b.process.Crash()
	assert.True(t, b.ran)
}

// A second Run is refused, during the first one and after it.
func TestRun_IsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.loop.Run(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, b.loop.Run(t.Context()), runtime.ErrSecondRun)
		b.loop.RequestSync("a")
		assert.NoError(t, b.loop.Flush(t.Context()), "the first goes on")
		cancel()
		require.NoError(t, <-ended)
		require.EqualError(t, b.loop.Run(t.Context()), "syncloop: Run was called a second time")
	})
}

// The same with goroutines and many concurrent senders: the loop handles the last event of each.
func TestRun_I40_Goroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		var running, pokers sync.WaitGroup
		running.Go(func() { assert.NoError(t, b.loop.Run(ctx)) })
		for i := range 20 {
			uid := types.UID(fmt.Sprint("pod-", i))
			b.addPods(uid)
			pokers.Go(func() {
				for n := range 50 {
					b.loop.RequestSync(uid)
					b.loop.AddProbeResult(syncloop.ProbeResult{UID: uid, Probe: syncloop.Readiness, Success: n == 49})
					b.loop.RequestHousekeeping()
				}
			})
		}
		pokers.Wait()
		synctest.Wait()
		heard := b.takeLines()
		for i := range 20 {
			last := ""
			for _, line := range heard {
				if strings.Contains(line, fmt.Sprintf("readiness pod-%d/", i)) {
					last = line
				}
			}
			assert.Equal(t, fmt.Sprintf("0.0 readiness pod-%d/ true", i), last)
			assert.Contains(t, heard, fmt.Sprintf("0.0 syncs [pod-%d]", i))
		}
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"0.1 cleanups"}, b.takeLines())
		cancel()
		running.Wait()
	})
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := syncloop.New(syncloop.Config{HousekeepingPeriod: -1, StuckAfter: -1})
	require.EqualError(t, err, "syncloop: Config.Handler is missing\nsyncloop: Config.Updates is missing\n"+
		"syncloop: Config.Desired is missing\nsyncloop: Config.Changes is missing\n"+
		"syncloop: Config.HousekeepingPeriod is negative\nsyncloop: Config.StuckAfter is negative")
	_, err = syncloop.NewHandlers(syncloop.HandlersConfig{})
	require.EqualError(t, err, "syncloop: HandlersConfig.Manager is missing\nsyncloop: HandlersConfig.Workers is missing\n"+
		"syncloop: HandlersConfig.Status is missing\nsyncloop: HandlersConfig.Runtime is missing\nsyncloop: HandlersConfig.Sources is missing")
}

// Flush waits for a whole step, because a step in progress may have missed the change of the caller.
func TestFlush_WaitsForAWholeStep(t *testing.T) {
	b := newSimulation(t)
	b.addPods("a")
	b.startLoop()
	b.runUntilSecond(10)
	b.takeLines()
	var flushed []string
	flush := func(name string) {
		b.process.Go(func() {
			err := b.loop.Flush(b.ctx)
			flushed = append(flushed, fmt.Sprint(name, " ", err, " after ", len(b.takeLines()), " calls"))
		})
	}
	b.onCall("syncs", func() error {
		flush("during")
		return nil
	})
	b.loop.RequestSync("a")
	flush("before")
	b.runUntilSecond(20)
	assert.Equal(t, []string{"before <nil> after 1 calls", "during <nil> after 0 calls"}, flushed)

	b.end()
	b.RunUntilIdle()
	var err error
	b.process.Go(func() { err = b.loop.Flush(context.Background()) })
	b.RunUntilIdle()
	assert.ErrorIs(t, err, syncloop.ErrStopped)
}

// TestRun_I35_WaitsForFirstSnapshots: the loop waits for all first snapshots, but not longer than
// StartTimeout.
func TestRun_I35_WaitsForFirstSnapshots(t *testing.T) {
	for name, wait := range map[string]struct {
		until float64
		begun float64
	}{
		"until they are there": {until: 0.5, begun: 0.5},
		"or three seconds":     {until: 1000, begun: 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSimulation(t)
			b.settled = func() bool { return !b.Now().Before(start.Add(time.Duration(wait.until * float64(time.Second)))) }
			b.process.Go(func() {
				_ = b.process.Sleep(b.ctx, 500*time.Millisecond)
				b.loop.RequestHousekeeping()
			})
			b.stream.deliverUpdates(newUpdate(podmanager.ADD, "a"))
			b.startLoop()
			b.runUntilSecond(5)
			assert.Equal(t, fmt.Sprintf("%.1f additions [a]", wait.begun), b.takeLines()[0])
		})
	}
}
