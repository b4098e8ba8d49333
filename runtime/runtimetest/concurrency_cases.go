package runtimetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var concurrencyCases = []Case{
	{"concurrency/sandbox", "of several concurrent RunSandbox of one attempt, one succeeds and the others return ErrExists", checkConcurrentRunSandbox},
	{"concurrency/container", "of several concurrent CreateContainer of one attempt, one succeeds and the others return ErrExists", checkConcurrentCreateContainer},
	{"concurrency/stop", "all of several concurrent stops succeed", checkConcurrentStops},
	{"concurrency/pods", "pods run side by side", checkConcurrentPods},
}

// concurrentCalls is how many calls are made at once.
const concurrentCalls = 8

// requireOneSuccess fails the case unless exactly one concurrent call succeeded and all others returned
// ErrExists. errs has one entry for each call.
func (b *bench) requireOneSuccess(ids []string, errs []error) {
	b.Helper()
	var won []string
	for i, err := range errs {
		if err == nil {
			won = append(won, ids[i])
			continue
		}
		b.requireErrorIs(err, runtime.ErrExists, "a concurrent call")
	}
	b.Check(len(won) == 1, "%d of %d concurrent calls succeeded, want 1; the IDs are %v", len(won), len(errs), won)
}

func checkConcurrentRunSandbox(b *bench) {
	ref := b.newPodToCleanUp()
	ids, errs := make([]string, concurrentCalls), make([]error, concurrentCalls)
	executor.Each(b.executor, 0, concurrentCalls, func(i int) {
		ids[i], errs[i] = b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	})
	b.requireOneSuccess(ids, errs)
	b.Check(len(b.podStatus(ref).Sandboxes) == 1, "the pod has %d sandboxes, want 1", len(b.podStatus(ref).Sandboxes))
}

func checkConcurrentCreateContainer(b *bench) {
	ref := b.newPodToCleanUp()
	req := b.containerRequest(ref, b.runSandbox(ref, 0), "main", 0, b.h.Forever)
	ids, errs := make([]string, concurrentCalls), make([]error, concurrentCalls)
	executor.Each(b.executor, 0, concurrentCalls, func(i int) {
		ids[i], errs[i] = b.rt.CreateContainer(b.ctx, req)
	})
	b.requireOneSuccess(ids, errs)
	b.Check(len(b.podStatus(ref).Containers) == 1, "the pod has %d containers, want 1", len(b.podStatus(ref).Containers))
}

func checkConcurrentStops(b *bench) {
	ref, sandbox, id := b.runIgnoreTermUntilReady()
	errs := make([]error, concurrentCalls)
	executor.Each(b.executor, 0, concurrentCalls, func(i int) {
		if errs[i] = b.stopContainer(id, time.Second); i%2 == 0 {
			errs[i] = errors.Join(errs[i], b.stopSandbox(sandbox))
		}
	})
	b.Must(errors.Join(errs...), "a concurrent stop")
	b.requireKilled(ref, id)
}

func checkConcurrentPods(b *bench) {
	image := b.pullImage()
	refs := make([]runtime.PodRef, concurrentCalls)
	for i := range refs {
		refs[i] = b.newPodToCleanUp()
	}
	errs := make([]error, concurrentCalls)
	executor.Each(b.executor, 0, concurrentCalls, func(i int) { errs[i] = b.runPodLifecycle(refs[i], image) })
	b.Must(errors.Join(errs...), "the lifecycle of a pod beside other pods")
	for _, ref := range refs {
		st := b.podStatus(ref)
		b.Check(len(st.Sandboxes)+len(st.Containers) == 0, "PodStatus still has records after RemoveSandbox: %+v", st)
	}
}

// runPodLifecycle creates a pod's sandbox, runs three attempts of its container and removes the sandbox. It
// returns the first error instead of failing the case, because it runs on a background goroutine.
func (b *bench) runPodLifecycle(ref runtime.PodRef, image string) error {
	sandbox, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	if err != nil {
		return fmt.Errorf("RunSandbox: %w", err)
	}
	if err := b.executor.Sleep(b.ctx, 100*time.Millisecond); err != nil { // until the other pods run
		return fmt.Errorf("waiting: %w", err)
	}
	for attempt := range uint32(3) {
		if err := b.runOneAttempt(ref, sandbox, image, attempt); err != nil {
			return fmt.Errorf("attempt %d: %w", attempt, err)
		}
	}
	return errors.Join(b.stopSandbox(sandbox), b.removeSandbox(sandbox))
}

// runOneAttempt creates, starts and stops one attempt of a container. It returns an error if a call fails, or
// if the pod's status afterwards does not show this attempt as exited and all earlier ones.
func (b *bench) runOneAttempt(ref runtime.PodRef, sandbox, image string, attempt uint32) error {
	id, err := b.rt.CreateContainer(b.ctx, runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: "main", Attempt: attempt, Image: b.h.Image, ImageRef: image, Command: b.h.Forever,
	})
	if err != nil {
		return fmt.Errorf("CreateContainer: %w", err)
	}
	if err := b.rt.StartContainer(b.ctx, runtime.StartContainerRequest{ContainerID: id}); err != nil {
		return fmt.Errorf("StartContainer: %w", err)
	}
	if _, err := b.rt.ListPods(b.ctx); err != nil {
		return fmt.Errorf("ListPods: %w", err)
	}
	if err := b.waitForTrapsOrDelay(id, b.h.scriptedForever); err != nil {
		return fmt.Errorf("waiting for the container: %w", err)
	}
	if err := b.stopContainer(id, time.Minute); err != nil {
		return fmt.Errorf("StopContainer: %w", err)
	}
	st, err := b.rt.PodStatus(b.ctx, ref.UID)
	if err != nil {
		return fmt.Errorf("PodStatus: %w", err)
	}
	if n := len(st.Containers); n != int(attempt)+1 || st.Containers[0].ID != id || st.Containers[0].State != runtime.StateExited {
		return fmt.Errorf("after StopContainer the pod must have %d containers, the newest exited; it has %+v", attempt+1, st.Containers)
	}
	return nil
}
