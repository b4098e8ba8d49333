package metrics_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/metrics"
)

// These are the benchmarks of package podworkers without and with metrics: their ratio is what
// metrics cost. Run them alternately: -run - -bench 'Dispatch|Lifecycle' -count 10.

// quick is a PodSyncer that does nothing.
type quick struct{ synced func() }

func (q quick) SyncPod(context.Context, podworkers.SyncPodType, *v1.Pod, *v1.Pod, *runtime.PodStatus) (bool, error) {
	q.synced()
	return false, nil
}

func (q quick) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil
}
func (q quick) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }
func (q quick) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error {
	return nil
}

// instant is a cache that always has a newer status.
type instant struct{}

func (instant) Get(types.UID) (*runtime.PodStatus, error) { return &runtime.PodStatus{}, nil }
func (instant) Mark() uint64                              { return 0 }
func (instant) NewerThan(context.Context, types.UID, uint64) (*runtime.PodStatus, error) {
	return &runtime.PodStatus{}, nil
}

func benchPods(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	for i := range pods {
		pods[i] = &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Namespace: "default", UID: types.UID(fmt.Sprintf("%08x-%012d", uint32(i)*2654435761, i)),
				Annotations: map[string]string{"kubernetes.io/config.source": "api", "kubernetes.io/config.seen": "2026-01-01T00:00:00.123456789Z"},
			},
			Spec: v1.PodSpec{TerminationGracePeriodSeconds: new(int64(30))},
		}
	}
	return pods
}

// both runs a benchmark without hooks, with hooks that do nothing, and with metrics.
func both(b *testing.B, bench func(*testing.B, podworkers.Hooks)) {
	b.Run("hooks=none", func(b *testing.B) { bench(b, podworkers.Hooks{}) })
	b.Run("hooks=empty", func(b *testing.B) {
		bench(b, podworkers.Hooks{
			Phase: func(types.UID, uint64, lifecycle.Phase) {}, Forgotten: func(types.UID) {}, Synced: func(podworkers.Synced) {},
		})
	})
	b.Run("hooks=metrics", func(b *testing.B) { bench(b, metrics.New(metrics.Config{}).WorkerHooks()) })
}

func benchWorkers(b *testing.B, config podworkers.Config) *podworkers.Workers {
	config.Cache = instant{}
	w, err := podworkers.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return w
}

func update(b *testing.B, w *podworkers.Workers, pod *v1.Pod, t podworkers.SyncPodType) {
	if err := w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: t, Pod: pod}); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkDispatch(b *testing.B) {
	both(b, func(b *testing.B, hooks podworkers.Hooks) {
		pods := benchPods(1000)
		synced := make(chan struct{}, 1)
		w := benchWorkers(b, podworkers.Config{Syncer: quick{func() { synced <- struct{}{} }}, Hooks: hooks})
		for _, pod := range pods {
			update(b, w, pod, podworkers.SyncPodCreate)
			<-synced
		}
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			update(b, w, pods[i], podworkers.SyncPodUpdate)
			<-synced
			if i++; i == len(pods) {
				i = 0
			}
		}
	})
}

func BenchmarkLifecycle(b *testing.B) {
	both(b, func(b *testing.B, hooks podworkers.Hooks) {
		pods := benchPods(1000)
		var synced, finished sync.WaitGroup
		counted := hooks.Phase
		hooks.Phase = func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
			if counted != nil {
				counted(uid, incarnation, phase)
			}
			if phase == lifecycle.Finished {
				finished.Done()
			}
		}
		w := benchWorkers(b, podworkers.Config{Syncer: quick{synced.Done}, Hooks: hooks})
		b.ReportAllocs()
		for b.Loop() {
			life(b, w, pods, &synced, &finished)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(pods)), "ns/pod")
	})
}

// life runs the whole life of some pods.
func life(b *testing.B, w *podworkers.Workers, pods []*v1.Pod, synced, finished *sync.WaitGroup) {
	synced.Add(len(pods))
	finished.Add(len(pods))
	for _, pod := range pods {
		update(b, w, pod, podworkers.SyncPodCreate)
	}
	synced.Wait()
	for _, pod := range pods {
		update(b, w, pod, podworkers.SyncPodKill)
	}
	finished.Wait()
	if known := w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true}); len(known) > 0 {
		b.Fatal("not forgotten:", len(known))
	}
}

// The hooks that every sync calls allocate nothing.
func TestWorkerHooks_AllocateNothing(t *testing.T) {
	hooks := metrics.New(metrics.Config{}).WorkerHooks()
	sync := podworkers.Synced{UID: "uid", Kind: lifecycle.SyncPod, Type: podworkers.SyncPodUpdate, Took: 1, Err: context.Canceled}
	allocated := testing.AllocsPerRun(100, func() {
		hooks.Synced(sync)
		hooks.Phase("uid", 1, lifecycle.Terminating)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
