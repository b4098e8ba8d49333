package runtimetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

var concurrencyCases = []Case{
	{"concurrency/sandbox", "of concurrent requests for one sandbox one succeeds and the others are ErrExists", concurrencySandbox},
	{"concurrency/container", "of concurrent requests for one container one succeeds and the others are ErrExists", concurrencyContainer},
	{"concurrency/stop", "any number of concurrent stops succeed", concurrencyStop},
	{"concurrency/pods", "pods live side by side", concurrencyPods},
}

// many is how many calls are made at once.
const many = 8

// oneWins checks the results of calls of which one must have succeeded.
func (b *bench) oneWins(ids []string, errs []error) {
	b.Helper()
	var won []string
	for i, err := range errs {
		if err == nil {
			won = append(won, ids[i])
			continue
		}
		b.is(err, runtime.ErrExists, "a concurrent call")
	}
	b.Check(len(won) == 1, "%d of %d concurrent calls have succeeded: %v", len(won), len(errs), won)
}

func concurrencySandbox(b *bench) {
	ref := b.pod()
	ids, errs := make([]string, many), make([]error, many)
	executor.Each(b.executor, 0, many, func(i int) {
		ids[i], errs[i] = b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	})
	b.oneWins(ids, errs)
	b.Check(len(b.status(ref).Sandboxes) == 1, "there are %d sandboxes", len(b.status(ref).Sandboxes))
}

func concurrencyContainer(b *bench) {
	ref := b.pod()
	req := b.containerRequest(ref, b.sandbox(ref, 0), "main", 0, b.h.Forever)
	ids, errs := make([]string, many), make([]error, many)
	executor.Each(b.executor, 0, many, func(i int) {
		ids[i], errs[i] = b.rt.CreateContainer(b.ctx, req)
	})
	b.oneWins(ids, errs)
	b.Check(len(b.status(ref).Containers) == 1, "there are %d containers", len(b.status(ref).Containers))
}

func concurrencyStop(b *bench) {
	ref, sandbox, id := b.runDeaf()
	errs := make([]error, many)
	executor.Each(b.executor, 0, many, func(i int) {
		if errs[i] = b.stop(id, time.Second); i%2 == 0 {
			errs[i] = errors.Join(errs[i], b.stopSandbox(sandbox))
		}
	})
	b.Must(errors.Join(errs...), "a concurrent stop")
	b.killed(ref, id)
}

func concurrencyPods(b *bench) {
	image := b.image()
	refs := make([]runtime.PodRef, many)
	for i := range refs {
		refs[i] = b.pod()
	}
	errs := make([]error, many)
	executor.Each(b.executor, 0, many, func(i int) { errs[i] = b.life(refs[i], image) })
	b.Must(errors.Join(errs...), "the life of a pod among others")
	for _, ref := range refs {
		st := b.status(ref)
		b.Check(len(st.Sandboxes)+len(st.Containers) == 0, "records are left: %+v", st)
	}
}

// life takes a pod through everything and reports what went wrong: it runs in
// a goroutine of its own, where a test cannot be ended.
func (b *bench) life(ref runtime.PodRef, image string) error {
	sandbox, err := b.rt.RunSandbox(b.ctx, b.sandboxRequest(ref, 0))
	if err != nil {
		return fmt.Errorf("RunSandbox: %w", err)
	}
	if err := b.executor.Sleep(b.ctx, 100*time.Millisecond); err != nil { // until all are there
		return fmt.Errorf("waiting: %w", err)
	}
	for attempt := range uint32(3) {
		if err := b.incarnationOf(ref, sandbox, image, attempt); err != nil {
			return fmt.Errorf("attempt %d: %w", attempt, err)
		}
	}
	return errors.Join(b.stopSandbox(sandbox), b.removeSandbox(sandbox))
}

func (b *bench) incarnationOf(ref runtime.PodRef, sandbox, image string, attempt uint32) error {
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
	if err := b.awaitReady(id, b.h.scriptedForever); err != nil {
		return fmt.Errorf("waiting for the container: %w", err)
	}
	if err := b.stop(id, time.Minute); err != nil {
		return fmt.Errorf("StopContainer: %w", err)
	}
	st, err := b.rt.PodStatus(b.ctx, ref.UID)
	if err != nil {
		return fmt.Errorf("PodStatus: %w", err)
	}
	if n := len(st.Containers); n != int(attempt)+1 || st.Containers[0].ID != id || st.Containers[0].State != runtime.StateExited {
		return fmt.Errorf("after a stop the containers are %+v", st.Containers)
	}
	return nil
}
