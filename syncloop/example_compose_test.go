package syncloop_test

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// tasks replaces a runtime and the PLEG: a pod is a task of this process, which reports its own end.
type tasks struct {
	podworkers.NoCache
	podworkers.NoRuntimePods
	events chan string
	wake   func()
	mu     sync.Mutex
	ended  []pleg.Change
}

func (t *tasks) endTask(uid types.UID) {
	t.mu.Lock()
	t.ended = append(t.ended, pleg.Change{UID: uid, Events: pleg.ContainerDied})
	t.mu.Unlock()
	t.wake()
}

func (t *tasks) SyncPod(_ context.Context, why podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	t.events <- fmt.Sprint("SyncPod ", pod.Name, ", ", why)
	return why == podworkers.SyncPodSync, nil // Ended: the loop has been told of a change.
}

func (t *tasks) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil
}
func (t *tasks) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	t.events <- "SyncTerminatedPod " + pod.Name
	return nil
}

func (t *tasks) Subscribe(wake func()) pleg.Subscription { t.wake = wake; return t }
func (t *tasks) Close()                                  {}
func (t *tasks) TakeAll(buf []pleg.Change) (all []pleg.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, t.ended = append(buf, t.ended...), nil
	return all
}

// reporting is a podmanager.Manager that prints its calls.
type reporting struct {
	podmanager.Manager
	events chan string
}

func (r reporting) AddPod(pod *v1.Pod) {
	r.Manager.AddPod(pod)
	r.events <- "AddPod " + pod.Name
}

// The workers and the loop with replaced parts: the runtime, its observer, and the manager of the desired
// pods.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	own := &tasks{events: make(chan string)}
	manager, host := reporting{podmanager.New(), own.events}, source.NewHandle()
	sources, err := source.New(source.Config{Sources: map[string]source.Source{"api": host}})
	exitOnError(err)
	workers, err := podworkers.New(podworkers.Config{Syncer: own, Cache: own})
	exitOnError(err)
	handlers, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: manager, Workers: workers, Status: status.New(status.Config{}), Runtime: own, Sources: sources,
	})
	exitOnError(err)
	loop, err := syncloop.New(syncloop.Config{Handler: handlers, Updates: sources, Desired: manager, Changes: own})
	exitOnError(err)
	var parts sync.WaitGroup
	for _, run := range []func(context.Context) error{sources.Run, workers.Run, loop.Run} {
		parts.Go(func() { exitOnError(run(ctx)) })
	}

	_ = host.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", Name: "web", Namespace: "default"}})
	fmt.Println(<-own.events)
	fmt.Println(<-own.events)
	own.endTask("u1")
	fmt.Println(<-own.events)
	fmt.Println(<-own.events)
	stop()
	parts.Wait()
	// Output:
	// AddPod web
	// SyncPod web, create
	// SyncPod web, sync
	// SyncTerminatedPod web
}

func exitOnError(err error) {
	if err != nil {
		panic(err)
	}
}
