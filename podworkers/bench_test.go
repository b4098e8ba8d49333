package podworkers_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	cri "github.com/podkeel/podkeel/runtime"
)

// instant is a cache in which every observation is fresh.
type instant struct{ status cri.PodStatus }

func (c *instant) Get(types.UID) (*cri.PodStatus, error) { return &c.status, nil }
func (c *instant) Mark() uint64                          { return 0 }
func (c *instant) NewerThan(context.Context, types.UID, uint64) (*cri.PodStatus, error) {
	return &c.status, nil
}

// quick is a syncer that does nothing but signal every SyncPod.
type quick struct{ synced func(ctx context.Context) }

func (q quick) SyncPod(ctx context.Context, _ podworkers.SyncPodType, _, _ *v1.Pod, _ *cri.PodStatus) (bool, error) {
	if q.synced != nil {
		q.synced(ctx)
	}
	return false, nil
}

func (q quick) SyncTerminatingPod(context.Context, *v1.Pod, *cri.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil
}
func (q quick) SyncTerminatingRuntimePod(context.Context, *cri.Pod) error        { return nil }
func (q quick) SyncTerminatedPod(context.Context, *v1.Pod, *cri.PodStatus) error { return nil }

// benchPods returns n pods as an API server would return them.
func benchPods(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	grace := int64(30)
	for i := range pods {
		pods[i] = &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Namespace: "default",
				UID:         types.UID(fmt.Sprintf("%08x-7b3d-4a1c-9f00-%012d", int64(i)*2654435761, i)),
				Annotations: map[string]string{"kubernetes.io/config.source": "api"},
			},
			Spec: v1.PodSpec{TerminationGracePeriodSeconds: &grace},
		}
	}
	return pods
}

// runWorkers makes workers and runs them until the end of the benchmark.
func runWorkers(b *testing.B, config podworkers.Config) *podworkers.Workers {
	config.Cache = &instant{}
	w, err := podworkers.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(func() {
		cancel()
		<-ended
	})
	return w
}

func mustUpdate(b *testing.B, w *podworkers.Workers, pod *v1.Pod, t podworkers.SyncPodType) {
	if err := w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: t, Pod: pod}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpdatePodBusy is the most frequent call: an update of a pod whose sync is running, on a
// node of 10k pods.
func BenchmarkUpdatePodBusy(b *testing.B) {
	pods := benchPods(10_000)
	var begun sync.WaitGroup
	begun.Add(len(pods))
	w := runWorkers(b, podworkers.Config{Syncer: quick{func(ctx context.Context) {
		begun.Done()
		<-ctx.Done()
	}}})
	for _, pod := range pods {
		mustUpdate(b, w, pod, podworkers.SyncPodCreate)
	}
	begun.Wait()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		mustUpdate(b, w, pods[i], podworkers.SyncPodUpdate)
		if i++; i == len(pods) {
			i = 0
		}
	}
}

// BenchmarkDispatch is one cycle of an idle pod on a node of 1k pods: update, SyncPod with a
// cancellable context, idle again. BenchmarkSpawn is the lower bound of its cost.
func BenchmarkDispatch(b *testing.B) {
	pods := benchPods(1000)
	synced := make(chan struct{}, 1)
	w := runWorkers(b, podworkers.Config{Syncer: quick{func(context.Context) { synced <- struct{}{} }}})
	for _, pod := range pods {
		mustUpdate(b, w, pod, podworkers.SyncPodCreate)
		<-synced
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		mustUpdate(b, w, pods[i], podworkers.SyncPodUpdate)
		<-synced
		if i++; i == len(pods) {
			i = 0
		}
	}
}

// BenchmarkSpawn starts a goroutine and waits for its signal.
func BenchmarkSpawn(b *testing.B) {
	done := make(chan struct{}, 1)
	f := func() { done <- struct{}{} }
	b.ReportAllocs()
	for b.Loop() {
		go f()
		<-done
	}
}

// BenchmarkLifecycle is a whole lifecycle, of 1k pods at a time: create, sync, kill, terminate,
// clean up, forget.
func BenchmarkLifecycle(b *testing.B) {
	pods := benchPods(1000)
	var synced, finished sync.WaitGroup
	w := runWorkers(b, podworkers.Config{
		Syncer: quick{func(context.Context) { synced.Done() }},
		Hooks: podworkers.Hooks{Phase: func(_ types.UID, _ uint64, phase lifecycle.Phase) {
			if phase == lifecycle.Finished {
				finished.Done()
			}
		}},
	})
	b.ReportAllocs()
	for b.Loop() {
		synced.Add(len(pods))
		finished.Add(len(pods))
		for _, pod := range pods {
			mustUpdate(b, w, pod, podworkers.SyncPodCreate)
		}
		synced.Wait()
		for _, pod := range pods {
			mustUpdate(b, w, pod, podworkers.SyncPodKill)
		}
		finished.Wait()
		known := w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true})
		if len(known) > 0 {
			b.Fatal("not forgotten:", len(known))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(pods)), "ns/pod")
}

// BenchmarkIdlePod reports the memory of an idle pod with 100k pods: its records, its index entries
// and its queue entry. Pod, status, cache and history belong to others.
func BenchmarkIdlePod(b *testing.B) {
	pods := benchPods(100_000)
	for b.Loop() {
		idlePods(b, pods)
	}
}

func idlePods(b *testing.B, pods []*v1.Pod) {
	synced, ended := make(chan struct{}), make(chan struct{})
	before, goroutines := readHeap(), runtime.NumGoroutine()
	w, err := podworkers.New(podworkers.Config{
		Cache:  &instant{},
		Syncer: quick{},
		Hooks:  podworkers.Hooks{Synced: func(podworkers.Synced) { synced <- struct{}{} }},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		_ = w.Run(ctx)
	}()
	for _, pod := range pods {
		mustUpdate(b, w, pod, podworkers.SyncPodCreate)
		<-synced
	}
	n := float64(len(pods))
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines-1)/n, "goroutines/pod")
	cancel()
	<-ended // So that the last runner's stack is not counted. The records stay.
	b.ReportMetric(float64(readHeap()-before)/n, "B/pod")
	runtime.KeepAlive(w)
}

func readHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
