package podworkers_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// printer is a PodSyncer that only prints its calls.
type printer struct {
	podworkers.NoRuntimePods
	synced chan struct{}
}

func (p printer) SyncPod(_ context.Context, t podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	fmt.Println("start", pod.Name, "because of", t)
	close(p.synced)
	return false, nil
}

func (p printer) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, grace *int64, _ podworkers.PodStatusFunc) error {
	fmt.Println("stop", pod.Name, "within", *grace, "seconds")
	return nil
}

func (p printer) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	return nil
}

func ExampleNew() {
	syncer := printer{synced: make(chan struct{})}
	workers, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: podworkers.NoCache{}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	grace := int64(30)
	web := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "0815"},
		Spec:       v1.PodSpec{TerminationGracePeriodSeconds: &grace},
	}
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: web})
	<-syncer.synced

	killed := workers.Kill(podworkers.UpdatePodOptions{Pod: web})
	fmt.Println("stopped:", killed.Wait(ctx) == nil)

	stop()
	fmt.Println("ended:", <-ended == nil)
	// Output:
	// start web because of create
	// stop web within 30 seconds
	// stopped: true
	// ended: true
}

// A PodSyncer waits with the context of its call.
func ExampleWait() {
	ctx, cancel := context.WithCancel(context.Background())
	fmt.Println(podworkers.Wait(ctx, time.Millisecond))
	cancel()
	fmt.Println(podworkers.Wait(ctx, time.Hour))
	// Output:
	// <nil>
	// context canceled
}

func ExampleFail() {
	status := v1.PodStatus{Phase: v1.PodRunning}
	podworkers.Fail("Evicted", "the node is low on memory")(&status)
	fmt.Println(status.Phase, status.Reason)
	// Output: Failed Evicted
}

// A handle for another implementation of PodWorkers: the code that requests a termination waits for
// it, and the code that has terminated the pod resolves it.
func ExampleNewCompletion() {
	ended := podworkers.NewCompletion(nil)
	go ended.Resolve(nil) // The containers have stopped.
	fmt.Println(ended.Wait(context.Background()))
	// Output: <nil>
}
