package gc_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/gc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is a collector on an in-memory machine with injected faults. It records the calls of the
// machine and the log.
type bench struct {
	executor executor.Executor
	begun    time.Time
	machine  *memory.Runtime
	faults   *faulty.Faults
	pods     *gc.Pods

	mu struct {
		sync.Mutex
		lines []string
		keep  map[types.UID]bool
		asked func(types.UID) // when Removable is
	}
}

func newBench(machine, own clock.Clock, change ...func(*gc.PodsConfig)) *bench {
	b := &bench{executor: executor.Over(own), machine: memory.New(memory.Config{Clock: machine})}
	b.begun = b.executor.Now()
	b.mu.keep = map[types.UID]bool{}
	var err error
	if b.faults, err = faulty.New(faulty.Config{}); err != nil {
		panic(err)
	}
	config := gc.PodsConfig{
		Runtime: spy{b.faults.Wrap(b.machine.WithClock(own), own), b}, Clock: own,
		Removable: b.isRemovable, Removed: func(uid types.UID) { b.addLine("removed %s", uid) },
		Log: b.newLogger(),
	}
	for _, c := range change {
		c(&config)
	}
	if b.pods, err = gc.NewPods(config); err != nil {
		panic(err)
	}
	return b
}

// newLogger returns a logger that records messages without their time.
func (b *bench) newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// isRemovable reports whether a pod is not desired and has no worker.
func (b *bench) isRemovable(uid types.UID) bool {
	b.mu.Lock()
	asked := b.mu.asked
	b.mu.Unlock()
	if asked != nil {
		asked(uid)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.mu.keep[uid]
}

func (b *bench) keepPod(uid types.UID, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.keep[uid] = keep
}

func (b *bench) addLine(format string, args ...any) {
	at := b.executor.Now().Sub(b.begun).Seconds()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.lines = append(b.mu.lines, fmt.Sprintf("%g ", at)+fmt.Sprintf(format, args...))
}

// Write implements io.Writer for the log. It records warnings only.
func (b *bench) Write(line []byte) (int, error) {
	b.addLine("%s", line[:len(line)-1])
	return len(line), nil
}

func (b *bench) takeLines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.mu.lines
	b.mu.lines = nil
	return lines
}

// createStopped creates a pod with stopped sandboxes, each with a container.
func (b *bench) createStopped(t *testing.T, uid types.UID, attempts int) {
	t.Helper()
	for n := range attempts {
		b.stopSandbox(t, b.createRunning(t, uid, n))
	}
}

func (b *bench) createRunning(t *testing.T, uid types.UID, attempt int) (sandbox string) {
	t.Helper()
	ctx := context.Background()
	pod := runtime.PodRef{UID: uid, Name: string(uid), Namespace: "ns"}
	sandbox, err := b.machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod, Attempt: uint32(attempt)})
	require.NoError(t, err)
	image, err := b.machine.PullImage(ctx, runtime.PullImageRequest{Image: "i"})
	require.NoError(t, err)
	id, err := b.machine.CreateContainer(ctx, runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "c", Attempt: uint32(attempt), Image: "i", ImageRef: image})
	require.NoError(t, err)
	require.NoError(t, b.machine.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
	return sandbox
}

func (b *bench) stopSandbox(t *testing.T, sandbox string) {
	t.Helper()
	require.NoError(t, b.machine.StopSandbox(context.Background(), runtime.StopSandboxRequest{SandboxID: sandbox}))
}

// describeSandboxes returns the number of sandboxes of each pod as text.
func (b *bench) describeSandboxes() string {
	var left []string
	for _, p := range b.machine.Snapshot() {
		left = append(left, fmt.Sprintf("%s:%d", p.UID, len(p.Sandboxes)))
	}
	slices.Sort(left)
	return fmt.Sprint(left)
}

// spy records removals, by the attempt of the sandbox.
type spy struct {
	runtime.Runtime
	*bench
}

func (s spy) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	name := req.SandboxID
	for _, p := range s.machine.Snapshot() {
		for _, sandbox := range p.Sandboxes {
			if sandbox.ID == req.SandboxID {
				name = fmt.Sprintf("%s/%d", p.UID, sandbox.Attempt)
			}
		}
	}
	s.addLine("remove %s", name)
	return s.Runtime.RemoveSandbox(ctx, req)
}

// simulation is a bench in one thread.
type simulation struct {
	*bench
	*executor.Scheduler
	process *executor.Process
	end     context.CancelFunc
	ran     bool
}

func newSimulation(t *testing.T, change ...func(*gc.PodsConfig)) *simulation {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	b.bench = newBench(b.NewProcess().Clock(), b.process.Clock(), change...)
	var ctx context.Context
	ctx, b.end = executor.WithCancel(t.Context())
	b.process.Go(func() {
		assert.NoError(t, b.pods.Run(ctx))
		b.ran = true
	})
	b.RunUntilIdle()
	t.Cleanup(func() {
		b.end()
		b.RunUntil(b.Now().Add(time.Hour))
		assert.Zero(t, b.process.Running(), "nothing is left behind")
	})
	return b
}

func (b *simulation) runUntilSecond(seconds float64) {
	b.RunUntil(start.Add(time.Duration(seconds * float64(time.Second))))
}

func (b *simulation) addFault(t *testing.T, r faulty.Rule) (remove func()) {
	t.Helper()
	remove, err := b.faults.Add(r)
	require.NoError(t, err)
	return remove
}

// The oldest sandbox is removed first, with its containers. A pod that was passed twice is removed
// once.
func TestPods_GC6_RemovesAllSandboxes(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 3)
	b.createStopped(t, "b", 1)
	b.createStopped(t, "kept", 1)
	b.keepPod("kept", true)
	b.pods.Discard([]types.UID{"a", "kept", "a", "unknown"})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(100)
	assert.ElementsMatch(t, []string{"0 remove a/0", "0 remove a/1", "0 remove a/2", "0 removed a", "0 removed unknown"}, b.takeLines())
	assert.Equal(t, "[b:1 kept:1]", b.describeSandboxes())
	_, armed := b.NextTimer()
	assert.False(t, armed, "and then nothing")
}

// GC-7: a sandbox that cannot be stopped is not removed, nor any other sandbox of its pod. A failed
// removal is retried after 10 s, doubling to 5 minutes, for ever. A pod that is passed again keeps
// its place. The failure is logged once, and again when the reason changes.
func TestPods_GC7_FailedRemovalIsTriedAgainWithBackoff(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 2)
	heal := b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.Fail})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(5)
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(160)
	warning := `level=WARN msg="records of a removed pod could not be removed; retrying" uid=a after=%s err="gc: %s"`
	removing := "remove sandbox " + b.machine.Snapshot()[0].Sandboxes[1].ID + ": faulty: injected: RemoveSandbox"
	assert.Equal(t, []string{
		"0 remove a/0", "0 " + fmt.Sprintf(warning, "10s", removing),
		"10 remove a/0", "30 remove a/0", "70 remove a/0", "150 remove a/0",
	}, b.takeLines())
	heal()
	looking := b.addFault(t, faulty.Rule{Verb: faulty.PodStatus, Do: faulty.Fail})
	b.runUntilSecond(1300)
	assert.Equal(t, []string{"310 " + fmt.Sprintf(warning, "5m0s", "pod status: faulty: injected: PodStatus")}, b.takeLines(), "160 s, then 300 s each")
	looking()
	b.runUntilSecond(1600)
	assert.Equal(t, []string{"1510 remove a/0", "1510 remove a/1", "1510 removed a"}, b.takeLines())

	// What failed before is forgotten with the pod.
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.Fail, Times: 1})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1611)
	assert.Contains(t, b.takeLines(), "1610 removed a", "10 s again")
}

// The UID is desired again between two removals: the remaining records stay.
func TestPods_KeptFromTheMomentItIsWanted(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 3)
	asked := 0
	b.mu.asked = func(types.UID) {
		if asked++; asked == 2 {
			b.keepPod("a", true)
		}
	}
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(100)
	assert.Equal(t, []string{"0 remove a/0"}, b.takeLines(), "and it is not said to be removed")
	assert.Equal(t, "[a:2]", b.describeSandboxes())

	b.keepPod("a", false)
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(200)
	assert.Equal(t, []string{"100 remove a/1", "100 remove a/2", "100 removed a"}, b.takeLines(), "it can be handed over again")
}

// A pod that is desired again during its backoff is kept.
func TestPods_KeptInTheMiddleOfABackoff(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.Fail, Times: 1})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	b.takeLines()
	b.keepPod("a", true)
	b.runUntilSecond(100)
	assert.Empty(t, b.takeLines())
	assert.Equal(t, "[a:1]", b.describeSandboxes())
	_, armed := b.NextTimer()
	assert.False(t, armed)
}

// The caller of Discard had an old snapshot: a pod that runs is not removed.
func TestPods_APodThatRunsIsKept(t *testing.T) {
	b := newSimulation(t)
	sandbox := b.createRunning(t, "a", 0)
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	assert.Empty(t, b.takeLines())
	b.stopSandbox(t, sandbox)
	b.runUntilSecond(2)
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(3)
	assert.Equal(t, []string{"2 remove a/0", "2 removed a"}, b.takeLines())
}

// The runtime shows a pod as running when it is passed to Discard, and no event follows. The pod is
// inspected again while it is not desired.
func TestPods_APodThatIsLateToEnd(t *testing.T) {
	b := newSimulation(t)
	sandbox := b.createRunning(t, "a", 0)
	b.createRunning(t, "b", 0)
	b.pods.Discard([]types.UID{"a", "b"})
	b.runUntilSecond(1)
	b.stopSandbox(t, sandbox)
	b.keepPod("b", true)
	b.runUntilSecond(100)
	assert.Equal(t, []string{"10 remove a/0", "10 removed a"}, b.takeLines())
	_, armed := b.NextTimer()
	assert.False(t, armed)
}

// After a lost reply the next attempt finds nothing to remove.
func TestPods_LostReply(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.FailDone, Times: 1})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(20)
	assert.Contains(t, b.takeLines(), "10 removed a")
	assert.Equal(t, "[]", b.describeSandboxes())
}

// I39: a pod whose removal hangs does not delay pods that are due at the same time, and later pods
// for one timeout at most.
func TestPods_I39_AHungRemoval(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.createStopped(t, "b", 1)
	b.createStopped(t, "c", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, UID: "a", Do: faulty.Hang, Times: 1})
	b.pods.Discard([]types.UID{"a", "b"})
	b.runUntilSecond(1)
	b.pods.Discard([]types.UID{"c"})
	b.runUntilSecond(200)
	var removed []string
	for _, line := range b.takeLines() {
		var at float64
		var uid string
		if n, _ := fmt.Sscanf(line, "%g removed %s", &at, &uid); n == 2 {
			removed = append(removed, line)
		}
	}
	assert.Equal(t, []string{"0 removed b", "120 removed c", "130 removed a"}, removed)
}

// At most MaxRemovals pods are removed concurrently.
func TestPods_MaxRemovals(t *testing.T) {
	b := newSimulation(t, func(c *gc.PodsConfig) { c.MaxRemovals = 2 })
	uids := []types.UID{"a", "b", "c", "d", "e"}
	for _, uid := range uids {
		b.createStopped(t, uid, 1)
	}
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Latency: time.Second})
	b.pods.Discard(uids)
	for i, left := range []int{5, 3, 1, 0} {
		b.runUntilSecond(float64(i) + 0.5)
		assert.Len(t, b.machine.Snapshot(), left, "after %d.5 s", i)
	}
}

// A pod that is passed during its removal is inspected once more, because the removal may have read
// an older state.
func TestPods_HandedOverDuringItsRemoval(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Latency: time.Second, Times: 1})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(0.5)
	b.stopSandbox(t, b.createRunning(t, "a", 1))
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(5)
	assert.Equal(t, "[]", b.describeSandboxes())
}

// The end of Run does not cancel a removal that was sent. No other removal starts.
func TestPods_RemovalOutlivesItsContext(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 2)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Latency: 10 * time.Second})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	b.end()
	b.runUntilSecond(5)
	assert.False(t, b.ran, "Run waits for it")
	b.runUntilSecond(20)
	assert.True(t, b.ran)
	assert.Equal(t, []string{"0 remove a/0"}, b.takeLines())
	assert.Equal(t, "[a:1]", b.describeSandboxes())
}

// The end of Run cancels a status call.
func TestPods_ALookEndsWithItsContext(t *testing.T) {
	b := newSimulation(t)
	b.addFault(t, faulty.Rule{Verb: faulty.PodStatus, Do: faulty.Hang})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	b.end()
	b.RunUntilIdle()
	assert.True(t, b.ran)
	assert.Empty(t, b.takeLines(), "no warning is logged")
}

func TestPods_CrashUnwinds(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Latency: time.Minute})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	b.process.Crash()
	assert.True(t, b.ran)
	assert.Equal(t, "[a:1]", b.describeSandboxes())
}

// The same with goroutines and concurrent calls of Discard.
func TestPods_Goroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(clock.RealClock{}, clock.RealClock{})
		var uids []types.UID
		for i := range 20 {
			uids = append(uids, types.UID(fmt.Sprint("pod-", i)))
			b.createStopped(t, uids[i], 2)
		}
		_, err := b.faults.Add(faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.Fail, Times: 7})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, b.pods.Run(ctx)) })
		for range 5 {
			running.Go(func() { b.pods.Discard(uids) })
		}
		time.Sleep(time.Hour)
		assert.Equal(t, "[]", b.describeSandboxes())
		cancel()
		running.Wait()
	})
}

func TestNewPods_NamesEveryFault(t *testing.T) {
	_, err := gc.NewPods(gc.PodsConfig{Retry: -1, MaxRetry: -1, CallTimeout: -1, MaxRemovals: -1})
	require.EqualError(t, err, "gc: PodsConfig.Runtime is missing\ngc: PodsConfig.Removable is missing\n"+
		"gc: PodsConfig.Retry is negative\ngc: PodsConfig.MaxRetry is negative\n"+
		"gc: PodsConfig.CallTimeout is negative\ngc: PodsConfig.MaxRemovals is negative")
}

// F58: a runtime that reports a removal but keeps the sandbox is called again until the sandbox is
// removed.
func TestPods_F58_RemovalThatLies(t *testing.T) {
	b := newSimulation(t)
	b.createStopped(t, "a", 1)
	b.addFault(t, faulty.Rule{Verb: faulty.RemoveSandbox, Do: faulty.Lie, Times: 2})
	b.pods.Discard([]types.UID{"a"})
	b.runUntilSecond(1)
	assert.NotEqual(t, "[]", b.describeSandboxes())
	b.runUntilSecond(60)
	assert.Equal(t, "[]", b.describeSandboxes())
}
