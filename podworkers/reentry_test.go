package podworkers_test

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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

// harness implements everything that the workers call, and each method calls the workers.
type harness struct {
	events
	*Cache
	*Syncer
	w     *podworkers.Workers
	calls map[string]int
}

// callWorkers calls the workers as a callback may. If the workers held a lock it would hang.
func (x *harness) callWorkers(from string) {
	x.calls[from]++
	if x.w == nil {
		return // New reads the clock before the workers exist.
	}
	x.w.View("a")
	x.w.Generation()
	x.w.IsPodForMirrorPodTerminatingByFullName("a_default")
	_ = x.w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, RunningPod: Running("nobody")})
}

func (x *harness) Get(uid types.UID) (*runtime.PodStatus, error) {
	x.callWorkers("Cache.Get")
	return x.Cache.Get(uid)
}

func (x *harness) Mark() uint64 {
	x.callWorkers("Cache.Mark")
	return x.Cache.Mark()
}

func (x *harness) NewerThan(ctx context.Context, uid types.UID, mark uint64) (*runtime.PodStatus, error) {
	x.callWorkers("Cache.NewerThan")
	return x.Cache.NewerThan(ctx, uid, mark)
}

func (x *harness) Eventf(o k8sObject, kind, reason, format string, args ...any) {
	x.callWorkers("Recorder")
	x.events.Eventf(o, kind, reason, format, args...)
}

func (x *harness) Enabled(context.Context, slog.Level) bool { return true }
func (x *harness) WithAttrs([]slog.Attr) slog.Handler       { return x }
func (x *harness) WithGroup(string) slog.Handler            { return x }
func (x *harness) Handle(context.Context, slog.Record) error {
	x.callWorkers("Log")
	return nil
}

func TestLock_I51_F86_NoCallbackUnderTheLock(t *testing.T) {
	node := newSimulation(t, Config{}) // For its clock and its scheduler.
	x := &harness{Cache: NewCache(node.Clock()), Syncer: NewSyncer(node.Clock()), calls: map[string]int{}}
	w, err := podworkers.New(podworkers.Config{
		Syncer: x, Cache: x, Clock: node.Clock(), Recorder: x, Log: slog.New(x),
		Jitter: func() float64 { x.callWorkers("Jitter"); return 0 },
		Hooks: podworkers.Hooks{
			Phase:     func(types.UID, uint64, lifecycle.Phase) { x.callWorkers("Hooks.Phase") },
			Forgotten: func(types.UID) { x.callWorkers("Hooks.Forgotten") },
			Syncing:   func(*v1.Pod, uint64) { x.callWorkers("Hooks.Syncing") },
			Synced:    func(podworkers.Synced) { x.callWorkers("Hooks.Synced") },
		},
	})
	require.NoError(t, err)
	x.w = w
	x.Syncer.Script("", 0, Reply{Do: func(context.Context, Call) { x.callWorkers("Syncer") }, Err: errors.New("boom")}, Reply{})
	x.Cache.Fail("sick", errors.New("boom"))
	node.Go(func(ctx context.Context) { _ = w.Run(ctx) })
	for _, pod := range []*v1.Pod{Pod("a"), Pod("sick"), Pod("over", Phase(v1.PodFailed))} {
		require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod}))
	}
	node.Advance(time.Minute)
	w.Kill(podworkers.UpdatePodOptions{Pod: Pod("a")})
	node.Advance(time.Minute)
	w.SyncKnownPods(podworkers.KnownPods{
		Generation:    w.Generation(),
		Authoritative: func(string) bool { x.callWorkers("Authoritative"); return true },
	})
	for _, from := range []string{
		"Cache.Get", "Cache.Mark", "Cache.NewerThan", "Hooks.Syncing", "Recorder", "Log", "Jitter",
		"Hooks.Phase", "Hooks.Forgotten", "Hooks.Synced", "Syncer", "Authoritative",
	} {
		assert.NotZero(t, x.calls[from], from)
	}
	assert.NotEmpty(t, x.list)
	assert.Equal(t, "Warning FailedSync error determining status: boom", x.list[0])
}

// A syncer may update its own pod and any other pod.
func TestSyncer_F86_CallsBackIntoTheWorkers(t *testing.T) {
	node := newSimulation(t, Config{})
	var own *podworkers.Completion
	node.Syncer.Script("a", syncPod, Reply{Blocks: true, Do: func(context.Context, Call) {
		node.Create(Pod("b"))
		node.Update(Pod("a"))
		own = node.Kill(Pod("a"))
	}})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	assertResolved(t, own)
	assert.Equal(t, 1, countInTranscript(node, "a  is finished"))
	assert.Equal(t, 1, countInTranscript(node, "b  SyncPod create: ok"))
}

// A syncer that kills its own pod and waits for the completion waits for itself. The kill cancels
// the wait.
func TestSyncer_F86_WaitsForItsOwnTermination(t *testing.T) {
	node := newSimulation(t, Config{})
	var waited error
	node.Syncer.Script("a", syncPod, Reply{Do: func(ctx context.Context, _ Call) {
		waited = node.Kill(Pod("a")).Wait(ctx)
	}})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	assert.ErrorIs(t, waited, context.Canceled)
	assert.Equal(t, 1, countInTranscript(node, "a  is finished"))
}

// The marks that the observation of each call must exceed.
type marks struct {
	*Cache
	asked map[types.UID][]uint64
}

func (m *marks) NewerThan(ctx context.Context, uid types.UID, mark uint64) (*runtime.PodStatus, error) {
	m.asked[uid] = append(m.asked[uid], mark)
	return m.Cache.NewerThan(ctx, uid, mark)
}

func TestFreshness_B083_B086_TheMarkMovesWithEveryCall(t *testing.T) {
	node := newSimulation(t, Config{})
	m := &marks{Cache: NewCache(node.Clock()), asked: map[types.UID][]uint64{}}
	syncer := NewSyncer(node.Clock())
	w, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: m, Clock: node.Clock(), Jitter: func() float64 { return 0 }})
	require.NoError(t, err)
	node.Go(func(ctx context.Context) { _ = w.Run(ctx) })
	update := func(uid string) {
		require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod(uid)}))
		node.RunUntilIdle()
	}
	syncer.Script("a", syncPod, Reply{Err: errors.New("boom")}, Reply{})
	update("a") // Observation 1, then a call that fails.
	update("a") // It must be newer than 1.
	m.Fail("a", errors.New("down"))
	update("a") // Observation 3 fails, and no call is made:
	m.Fail("a", nil)
	update("a") // so the mark has not changed.
	assert.Equal(t, []uint64{0, 1, 2, 2}, m.asked["a"])

	// A kill that interrupts a wait for a status accepts the same observation.
	m.Hang("a")
	update("a")
	w.Kill(podworkers.UpdatePodOptions{Pod: Pod("a")})
	m.Resume("a")
	node.RunUntilIdle()
	assert.Equal(t, []uint64{4, 4}, m.asked["a"][4:6])
	require.Equal(t, lifecycle.Finished, w.View("a").Phase())

	// A UID that is created again does not get an observation of its old incarnation.
	last := m.Mark()
	w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true})
	require.False(t, w.View("a").Known)
	update("a")
	assert.Equal(t, last, m.asked["a"][len(m.asked["a"])-1])
}

func TestHooks_B052_LatencyIsThatOfTheOldestUpdate(t *testing.T) {
	node := newSimulation(t, Config{})
	var synced []podworkers.Synced
	syncer := NewSyncer(node.Clock())
	syncer.Script("a", syncPod, Reply{Takes: 10 * time.Second}, Reply{Takes: time.Second, Err: errors.New("boom")})
	w, err := podworkers.New(podworkers.Config{
		Syncer: syncer, Cache: NewCache(node.Clock()), Clock: node.Clock(),
		Hooks: podworkers.Hooks{Synced: func(s podworkers.Synced) { synced = append(synced, s) }},
	})
	require.NoError(t, err)
	node.Go(func(ctx context.Context) { _ = w.Run(ctx) })
	start := node.Now()
	for _, at := range []time.Duration{0, 2 * time.Second, time.Second, -1} {
		o := podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: Pod("a")}
		if at >= 0 {
			o.StartTime = start.Add(at)
		}
		require.NoError(t, w.UpdatePod(o))
		node.RunUntilIdle()
	}
	node.Advance(11 * time.Second)
	boom := synced[1].Err
	assert.Equal(t, []podworkers.Synced{
		{UID: "a", Incarnation: 1, Kind: syncPod, Type: podworkers.SyncPodUpdate, Took: 10 * time.Second, Latency: 10 * time.Second},
		{UID: "a", Incarnation: 1, Kind: syncPod, Type: podworkers.SyncPodUpdate, Took: time.Second, Latency: 10 * time.Second, Err: boom},
	}, synced)
}

// With goroutines the transcript is the same as in the simulation.
func TestBubble_OneLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.RealClock{}
		trace, syncer := NewTrace(clk), NewSyncer(clk)
		syncer.Script("web", syncPod, Reply{Takes: 3 * time.Second}, Reply{})
		syncer.Script("web", syncTerminatingPod, Reply{Takes: 5 * time.Second})
		w, err := podworkers.New(podworkers.Config{
			Syncer: trace.WrapSyncer(syncer), Cache: NewCache(clk), Hooks: trace.Hooks(), Jitter: func() float64 { return 0 },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()

		tell := func(t podworkers.SyncPodType, version int64) podworkers.UpdatePodOptions {
			o := podworkers.UpdatePodOptions{UpdateType: t, Pod: Pod("web", Version(version))}
			trace.RecordUpdate(o)
			return o
		}
		require.NoError(t, w.UpdatePod(tell(podworkers.SyncPodCreate, 1)))
		time.Sleep(time.Second)
		require.NoError(t, w.UpdatePod(tell(podworkers.SyncPodUpdate, 2)))
		time.Sleep(2 * time.Minute)
		require.NoError(t, w.Kill(tell(podworkers.SyncPodKill, 2)).Wait(t.Context()))
		synctest.Wait()
		w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true})
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, Rules{Until: 2*time.Minute + 6*time.Second}.Check(trace.Events()))
		assert.Equal(t, `0s       web  create v1
0s       web  SyncPod create v1 ...
1s       web  update v2
3s       web  ... SyncPod create v1: ok, after 3s
3s       web  SyncPod update v2: ok
1m3s     web  SyncPod sync v2: ok
2m1s     web  kill v2
2m1s     web  is terminating
2m1s     web  SyncTerminatingPod v2 within 1s ...
2m6s     web  ... SyncTerminatingPod v2 within 1s: ok, after 5s
2m6s     web  is terminated
2m6s     web  SyncTerminatedPod v2: ok
2m6s     web  is finished
2m6s     web  is forgotten
`, trace.String())
	})
}

// I21: a thousand idle pods have no goroutine. The bubble would not end if one
// were left.
func TestBubble_I21_IdlePodsHaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := podworkers.New(podworkers.Config{Syncer: NewSyncer(nil), Cache: NewCache(nil)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		before := countGoroutines()
		for i := range 1000 {
			require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod(podName(i))}))
		}
		synctest.Wait()
		// Goroutines that are about to exit may still be counted.
		assert.Less(t, countGoroutines()-before, 500, "a thousand would be one each")
		time.Sleep(5 * time.Minute) // Resyncs, by the one timer.
		synctest.Wait()
		assert.Less(t, countGoroutines()-before, 500, "a thousand would be one each")
		w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true})
		synctest.Wait()
		assert.Empty(t, w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true}))
		cancel()
		require.NoError(t, <-ended)
	})
}

// A context that ends cancels running calls, waits for a status and waits for a slot, and then Run
// returns.
func TestBubble_I43_Drain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		syncer, cache := NewSyncer(nil), NewCache(nil)
		syncer.Script("", syncPod, Reply{Blocks: true})
		cache.Hang("pod-3")
		w, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: cache, MaxSyncs: 2})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		for i := range 10 {
			require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod(podName(i))}))
		}
		synctest.Wait()
		cancel()
		begun := time.Now()
		require.NoError(t, <-ended)
		assert.Equal(t, begun, time.Now(), "at once")
	})
}

func TestBubble_NamesThoseWhoDoNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		syncer := NewSyncer(nil)
		syncer.Script("deaf", syncPod, Reply{Blocks: true, IgnoresContext: true})
		w, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: NewCache(nil)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod("deaf")}))
		begun := time.Now()
		require.ErrorIs(t, w.Run(ctx), podworkers.ErrNotDrained)
		assert.Equal(t, time.Second+podworkers.DefaultDrainTimeout, time.Since(begun))
		syncer.Release()
	})
}
