package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// functions is a podworkers.PodSyncer that runs each pod as a goroutine. The
// workers never call it twice at once for one pod, so it only has to guard
// what different pods share.
type functions struct {
	podworkers.NoRuntimePods
	// look asks for another SyncPod: something has changed that only we know.
	look func(podworkers.UpdatePodOptions) error

	start time.Time
	mu    struct {
		sync.Mutex
		out     io.Writer
		running map[types.UID]*function
		failed  map[types.UID]bool
	}
}

// function is what a pod runs.
type function struct {
	arg   chan string // new content
	stop  context.CancelFunc
	ended chan struct{} // closed when it has returned
}

var _ podworkers.PodSyncer = (*functions)(nil)

func newFunctions(out io.Writer) *functions {
	f := &functions{start: time.Now()}
	f.mu.out = out
	f.mu.running = map[types.UID]*function{}
	f.mu.failed = map[types.UID]bool{}
	return f
}

// SyncPod starts the pod's function, or hands it the new content. It is called
// again for every reason there is, so it looks before it acts.
func (f *functions) SyncPod(_ context.Context, t podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (isTerminal bool, err error) {
	fn := f.find(pod.UID)
	switch {
	case fn == nil && f.failsFirst(pod):
		f.say(pod.Name, "can not start yet")
		return false, errors.New("not yet") // Tried again after the backoff.
	case fn == nil:
		f.say(pod.Name, "starts")
		f.launch(pod)
	case fn.hasEnded():
		f.say(pod.Name, "has come to its own end")
		return true, nil
	case t == podworkers.SyncPodUpdate:
		fn.arg <- pod.Spec.Containers[0].Args[0]
	}
	return false, nil
}

// SyncTerminatingPod stops the function and returns once it has returned. The
// workers take a nil error for the truth.
func (f *functions) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	fn := f.find(pod.UID)
	if fn == nil {
		return nil
	}
	fn.stop()
	select {
	case <-fn.ended:
		f.say(pod.Name, "is stopped")
		return nil
	case <-ctx.Done(): // The grace was shortened, or the program ends.
		return ctx.Err()
	}
}

// SyncTerminatedPod cleans up.
func (f *functions) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	f.mu.Lock()
	delete(f.mu.running, pod.UID)
	f.mu.Unlock()
	f.say(pod.Name, "is cleaned up")
	return nil
}

// launch starts the function that the image names.
func (f *functions) launch(pod *v1.Pod) {
	ctx, stop := context.WithCancel(context.Background())
	fn := &function{arg: make(chan string), stop: stop, ended: make(chan struct{})}
	f.mu.Lock()
	f.mu.running[pod.UID] = fn
	f.mu.Unlock()
	main := pod.Spec.Containers[0]
	go func() {
		if main.Image == "work" {
			f.work(ctx, pod.Name, main.Args[0])
		} else {
			f.tick(ctx, pod.Name, main.Args[0], fn.arg)
		}
		close(fn.ended)
		_ = f.look(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Pod: pod})
	}()
}

// tick says something every 400 ms.
func (f *functions) tick(ctx context.Context, name, arg string, news <-chan string) {
	ticker := time.NewTicker(400 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.say(name, arg)
		case arg = <-news:
		case <-ctx.Done():
			return
		}
	}
}

// work says something after a while, and that is all.
func (f *functions) work(ctx context.Context, name, arg string) {
	f.sleep(ctx, 460*time.Millisecond)
	f.say(name, arg+" = 42")
}

func (f *functions) find(uid types.UID) *function {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.running[uid]
}

// failsFirst is true for the first start of the pod called late.
func (f *functions) failsFirst(pod *v1.Pod) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := pod.Name == "late" && !f.mu.failed[pod.UID]
	f.mu.failed[pod.UID] = true
	return first
}

// say prints a line with the time since the start.
func (f *functions) say(who, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.mu.out, "%.1fs  %-5s  %s\n", time.Since(f.start).Seconds(), who, what)
}

func (f *functions) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (fn *function) hasEnded() bool {
	select {
	case <-fn.ended:
		return true
	default:
		return false
	}
}
