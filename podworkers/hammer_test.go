package podworkers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	cri "github.com/podkeel/podkeel/runtime"
)

type k8sObject = k8sruntime.Object

func countGoroutines() int { return runtime.NumGoroutine() }
func podName(i int) string { return fmt.Sprintf("pod-%d", i) }

// hammered is a syncer that checks I1 and that releases and takes its slot.
type hammered struct {
	quick
	t    *testing.T
	busy sync.Map // of *atomic.Bool by UID
}

func (h *hammered) checkExclusive(ctx context.Context, uid types.UID) error {
	flag, _ := h.busy.LoadOrStore(uid, new(atomic.Bool))
	if !flag.(*atomic.Bool).CompareAndSwap(false, true) {
		h.t.Errorf("two calls at once for %s", uid)
	}
	podworkers.WithoutSlot(ctx, func() {})
	flag.(*atomic.Bool).Store(false)
	switch rand.IntN(10) {
	case 0:
		return fmt.Errorf("bad luck")
	case 1:
		panic("bad luck")
	}
	return ctx.Err()
}

func (h *hammered) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *cri.PodStatus) (bool, error) {
	return rand.IntN(20) == 0, h.checkExclusive(ctx, pod.UID)
}

func (h *hammered) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, _ *cri.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	return h.checkExclusive(ctx, pod.UID)
}

func (h *hammered) SyncTerminatingRuntimePod(ctx context.Context, running *cri.Pod) error {
	return h.checkExclusive(ctx, running.UID)
}

func (h *hammered) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, _ *cri.PodStatus) error {
	return h.checkExclusive(ctx, pod.UID)
}

// TestHammer_F88 calls every method at once from 64 goroutines. The view of a pod only moves
// forward within one incarnation (I45), a kill's handle is resolved in every case (I44), and Run
// returns without a goroutine left.
func TestHammer_F88(t *testing.T) {
	const actors, rounds, pods = 64, 300, 24
	w, err := podworkers.New(podworkers.Config{
		Syncer: &hammered{t: t}, Cache: NewCache(nil), MaxSyncs: 4, MaxTerminations: 4,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	handles := make(chan *podworkers.Completion, actors*rounds)
	var all sync.WaitGroup
	for actor := range actors {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(actor), 1))
			a := actorOf{w: w, random: random, seen: map[types.UID]lifecycle.View{}, handles: handles, t: t}
			for range rounds {
				a.takeAction(podName(random.IntN(pods)))
			}
		})
	}
	all.Wait()
	cancel()
	require.NoError(t, <-ended)
	close(handles)
	for h := range handles {
		select {
		case <-h.Done():
		default:
			t.Error("a kill was never resolved")
		}
	}
}

// actorOf returns one of the goroutines that use the workers.
type actorOf struct {
	w       *podworkers.Workers
	random  *rand.Rand
	seen    map[types.UID]lifecycle.View
	handles chan<- *podworkers.Completion
	t       *testing.T
}

func (a *actorOf) takeAction(name string) {
	pod := Pod(name)
	if a.random.IntN(4) == 0 {
		pod = Pod("shared", Static(), UID(types.UID(name)))
	}
	short := int64(a.random.IntN(30))
	switch a.random.IntN(9) {
	case 0, 1, 2:
		_ = a.w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod})
	case 3:
		_ = a.w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: pod})
	case 4:
		a.handles <- a.w.Kill(podworkers.UpdatePodOptions{Pod: pod, KillPodOptions: &podworkers.KillPodOptions{
			PodTerminationGracePeriodSecondsOverride: &short, Evict: a.random.IntN(2) == 0,
		}})
	case 5:
		a.handles <- a.w.Kill(podworkers.UpdatePodOptions{RunningPod: Running(types.UID(name)), Generation: a.w.Generation()})
	case 6:
		a.w.SyncKnownPods(podworkers.KnownPods{Desired: []*v1.Pod{pod}, Generation: a.w.Generation(), AllSources: true})
	case 7:
		a.w.Step()
		_ = a.w.IsPodForMirrorPodTerminatingByFullName("shared_default")
	case 8:
		_ = a.w.UpdatePod(podworkers.UpdatePodOptions{})
	}
	a.compareView(types.UID(name))
}

// compareView compares the view of a pod with the view that the same actor got before.
func (a *actorOf) compareView(uid types.UID) {
	before, now := a.seen[uid], a.w.View(uid)
	if now.Known && before.Known {
		switch {
		case now.Incarnation < before.Incarnation:
			a.t.Errorf("%s: life %d after %d", uid, now.Incarnation, before.Incarnation)
		case now.Incarnation == before.Incarnation && now.Phase() < before.Phase():
			a.t.Errorf("%s: %s after %s", uid, now.Phase(), before.Phase())
		case now.Incarnation == before.Incarnation && now.Generation < before.Generation:
			a.t.Errorf("%s: generation %d after %d", uid, now.Generation, before.Generation)
		case now.Incarnation == before.Incarnation && (before.Evicted && !now.Evicted || before.Deleted && !now.Deleted):
			a.t.Errorf("%s: a latch has opened", uid)
		}
	}
	if now.Known || !before.Known {
		a.seen[uid] = now
	}
}

// F92: a batch of pods, removed by the next. The time of each step does not grow with the number of
// pods, and the calls keep to the slots.
func TestHammer_F92_BatchesAddedAndRemoved(t *testing.T) {
	n := longtest.Count(10_000, 100_000)
	pods := benchPods(n)
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		w, err := podworkers.New(podworkers.Config{
			Cache: &instant{}, MaxSyncs: 8, MaxTerminations: 8,
			Syncer: quick{func(ctx context.Context) {
				if now := running.Add(1); now > most.Load() {
					most.Store(now)
				}
				<-ctx.Done()
				running.Add(-1)
			}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		for _, pod := range pods {
			require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod}))
		}
		synctest.Wait()
		assert.EqualValues(t, 8, most.Load(), "the others wait")
		assert.NotEmpty(t, w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true}))
		synctest.Wait()
		assert.Empty(t, w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true}))
		cancel()
		require.NoError(t, <-ended)
	})
}
