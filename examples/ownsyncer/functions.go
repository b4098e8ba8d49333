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

// functions is a podworkers.PodSyncer that runs each pod as a goroutine. The workers never call it concurrently for one
// pod, so it only guards the state that pods share.
type functions struct {
	podworkers.NoRuntimePods
	// requestSync requests another SyncPod after a change that only this syncer can see.
	requestSync func(podworkers.UpdatePodOptions) error

	start time.Time
	mu    struct {
		sync.Mutex
		out     io.Writer
		running map[types.UID]*function
		failed  map[types.UID]bool
	}
}

// function is the running function of a pod.
type function struct {
	arg      chan string // new content
	stop     context.CancelFunc
	returned chan struct{} // closed when it has returned
}

var _ podworkers.PodSyncer = (*functions)(nil)

func newFunctions(out io.Writer) *functions {
	f := &functions{start: time.Now()}
	f.mu.out = out
	f.mu.running = map[types.UID]*function{}
	f.mu.failed = map[types.UID]bool{}
	return f
}

// SyncPod starts the pod's function, or sends it the new content. The workers call it repeatedly, so it checks the
// state before it acts.
func (f *functions) SyncPod(_ context.Context, t podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (isTerminal bool, err error) {
	fn := f.findFunction(pod.UID)
	switch {
	case fn == nil && f.recordFailureOfLatePod(pod):
		f.printLine(pod.Name, "cannot start yet")
		return false, errors.New("not yet") // The workers try again after the backoff.
	case fn == nil:
		f.printLine(pod.Name, "starts")
		f.startFunction(pod)
	case fn.hasReturned():
		f.printLine(pod.Name, "terminates by itself")
		return true, nil
	case t == podworkers.SyncPodUpdate:
		fn.arg <- pod.Spec.Containers[0].Args[0]
	}
	return false, nil
}

// SyncTerminatingPod stops the function and waits until it has returned. The workers rely on a nil error.
func (f *functions) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	fn := f.findFunction(pod.UID)
	if fn == nil {
		return nil
	}
	fn.stop()
	select {
	case <-fn.returned:
		f.printLine(pod.Name, "is stopped")
		return nil
	case <-ctx.Done(): // The grace period was shortened, or the program exits.
		return ctx.Err()
	}
}

// SyncTerminatedPod removes the records of the pod.
func (f *functions) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	f.mu.Lock()
	delete(f.mu.running, pod.UID)
	f.mu.Unlock()
	f.printLine(pod.Name, "is cleaned up")
	return nil
}

// startFunction stores and starts the function that the image of the pod's container names. When the function
// returns, it requests a sync of the pod.
func (f *functions) startFunction(pod *v1.Pod) {
	ctx, stop := context.WithCancel(context.Background())
	fn := &function{arg: make(chan string), stop: stop, returned: make(chan struct{})}
	f.mu.Lock()
	f.mu.running[pod.UID] = fn
	f.mu.Unlock()
	main := pod.Spec.Containers[0]
	go func() {
		if main.Image == "work" {
			f.printAfterDelayOrWhenDone(ctx, pod.Name, main.Args[0])
		} else {
			f.printPeriodically(ctx, pod.Name, main.Args[0], fn.arg)
		}
		close(fn.returned)
		_ = f.requestSync(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Pod: pod})
	}()
}

// printPeriodically prints arg every 400 ms until ctx is done. A text from updates replaces arg.
func (f *functions) printPeriodically(ctx context.Context, name, arg string, updates <-chan string) {
	ticker := time.NewTicker(400 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.printLine(name, arg)
		case arg = <-updates:
		case <-ctx.Done():
			return
		}
	}
}

// printAfterDelayOrWhenDone prints one line after a delay, or earlier if ctx is done.
func (f *functions) printAfterDelayOrWhenDone(ctx context.Context, name, arg string) {
	f.sleepUnlessDone(ctx, 460*time.Millisecond)
	f.printLine(name, arg+" = 42")
}

// findFunction returns the function that was started for a pod, or nil.
func (f *functions) findFunction(uid types.UID) *function {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.running[uid]
}

// recordFailureOfLatePod records a failure of the pod. It returns true if the pod has the name "late" and this
// is its first failure.
func (f *functions) recordFailureOfLatePod(pod *v1.Pod) (firstOfLatePod bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := pod.Name == "late" && !f.mu.failed[pod.UID]
	f.mu.failed[pod.UID] = true
	return first
}

// printLine prints a line with the time since the start.
func (f *functions) printLine(who, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.mu.out, "%.1fs  %-5s  %s\n", time.Since(f.start).Seconds(), who, what)
}

// sleepUnlessDone waits for d or until ctx is done.
func (f *functions) sleepUnlessDone(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// hasReturned reports whether the goroutine of the function has returned.
func (fn *function) hasReturned() bool {
	select {
	case <-fn.returned:
		return true
	default:
		return false
	}
}
