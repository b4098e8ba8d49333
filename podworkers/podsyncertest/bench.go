package podsyncertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// bench is what a case works with.
type bench struct {
	conformance.Bench
	Harness
	incarnation uint64
	pods        []*v1.Pod
	callHangs   bool // a call of the syncer has not returned
}

const (
	firstPause   = 100 * time.Millisecond // before a call is repeated
	longestPause = 5 * time.Second
)

// readOnly makes a call, and ends the case if that changes one of the call's arguments.
func (b *bench) readOnly(name string, call func(), arguments ...any) {
	b.Helper()
	before := b.asText(arguments)
	call()
	if after := b.asText(arguments); before != after {
		b.Failf("%s has changed an argument: before %s, after %s", name, before, after)
	}
}

func (b *bench) asText(arguments []any) string {
	b.Helper()
	text, err := json.Marshal(arguments)
	b.Must(err, "json.Marshal of the arguments")
	return string(text)
}

// pod is a pod of one container that runs for ever.
func (b *bench) pod(name string, changes ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.Namespace, p.UID = name, "podsyncertest", types.UID("podsyncertest-"+name)
	p.Spec.RestartPolicy = v1.RestartPolicyAlways
	p.Spec.TerminationGracePeriodSeconds = new(int64(2))
	p.Spec.Containers = []v1.Container{{Name: "main", Image: "registry.example/main:1"}}
	if b.Pod != nil {
		b.Pod(p)
	}
	for _, change := range changes {
		change(p)
	}
	b.pods = append(b.pods, p)
	return p
}

// context is that of one call.
func (b *bench) context() context.Context {
	return podworkers.WithIncarnation(b.Context(), b.incarnation)
}

// observe returns the status of a pod. Its error is that of the runtime.
func (b *bench) observe(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := b.Runtime.PodStatus(ctx, uid)
	if err == nil && status == nil {
		err = errors.New("no status")
	}
	if err != nil {
		err = fmt.Errorf("PodStatus of the runtime: %w", err)
	}
	return status, err
}

// status is what a call is given.
func (b *bench) status(p *v1.Pod) *runtime.PodStatus {
	b.Helper()
	status, err := b.observe(b.context(), p.UID)
	b.Must(err, "before a call")
	return status
}

// running returns the IDs of the containers of a pod that run.
func (b *bench) running(p *v1.Pod) []string {
	b.Helper()
	return running(b.status(p))
}

func running(status *runtime.PodStatus) (ids []string) {
	for i := range status.Containers {
		if status.Containers[i].State == runtime.StateRunning {
			ids = append(ids, status.Containers[i].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// until repeats a call until it has done what it is called for, with a pause between.
func (b *bench) until(call string, f func(ctx context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(b.context(), b.Limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		done, err := f(ctx)
		if done && err == nil {
			return nil
		}
		if podworkers.Wait(ctx, pause) != nil {
			return fmt.Errorf("%s, repeated for %s, does not succeed; last: %w", call, b.Limit, lastError(err))
		}
	}
}

// lastError is what the last of repeated calls has returned.
func lastError(err error) error {
	if err == nil {
		return errors.New("no error, and the pod is not as it should be")
	}
	return err
}

// bringUp repeats SyncPod until the pod runs.
func (b *bench) bringUp(p *v1.Pod, kind podworkers.SyncPodType, mirror *v1.Pod) error {
	return b.until("SyncPod", func(ctx context.Context) (bool, error) {
		before, err := b.observe(ctx, p.UID)
		if err != nil {
			return false, err
		}
		terminal, err := b.Syncer.SyncPod(ctx, kind, p, mirror, before)
		if err == nil && terminal {
			err = errors.New("the pod is said to have come to its end")
		}
		after, failed := b.observe(ctx, p.UID)
		return failed == nil && len(running(after)) > 0, errors.Join(err, failed)
	})
}

// bringDown repeats SyncTerminatingPod until it returns nil.
func (b *bench) bringDown(p *v1.Pod, grace *int64, change podworkers.PodStatusFunc) error {
	return b.until("SyncTerminatingPod", func(ctx context.Context) (bool, error) {
		status, err := b.observe(ctx, p.UID)
		if err != nil {
			return false, err
		}
		return true, b.Syncer.SyncTerminatingPod(ctx, p, status, grace, change)
	})
}

// cleanUp repeats SyncTerminatedPod until it returns nil.
func (b *bench) cleanUp(p *v1.Pod) error {
	return b.until("SyncTerminatedPod", func(ctx context.Context) (bool, error) {
		status, err := b.observe(ctx, p.UID)
		if err != nil {
			return false, err
		}
		return true, b.Syncer.SyncTerminatedPod(ctx, p, status)
	})
}

// start, stop and finish end the case if they fail.
func (b *bench) start(p *v1.Pod) *v1.Pod {
	b.Helper()
	b.Must(b.bringUp(p, podworkers.SyncPodCreate, nil), "start of pod "+p.Name)
	return p
}

func (b *bench) stop(p *v1.Pod) {
	b.Helper()
	b.Must(b.bringDown(p, nil, nil), "end of pod "+p.Name)
}

func (b *bench) finish(p *v1.Pod) {
	b.Helper()
	b.Must(b.cleanUp(p), "cleanup after pod "+p.Name)
}

// stopped ends the case if a container of the pod runs.
func (b *bench) stopped(call string, p *v1.Pod) {
	b.Helper()
	if ids := b.running(p); len(ids) > 0 {
		b.Failf("%s of pod %s has returned nil, and containers %q run", call, p.Name, ids)
	}
}

// undisturbed ends the case unless the same containers of a pod run.
func (b *bench) undisturbed(p *v1.Pod, before []string) {
	b.Helper()
	if after := b.running(p); !slices.Equal(before, after) {
		b.Failf("of pod %s the containers %q ran, and now %q", p.Name, before, after)
	}
}

// returns ends the case if a call does not return within the limit.
func (b *bench) returns(call string, f func()) {
	b.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	limit, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), b.Limit)
	defer cancel()
	select {
	case <-done:
	case <-limit.Done():
		b.callHangs = true
		b.Failf("%s has not returned %s after its context had ended", call, b.Limit)
	}
}

// clear terminates the pods whose containers still run, as far as the syncer can. A failure here is no failure
// of the case. While a call of the syncer has not returned, clear makes no other: calls for one pod never run
// concurrently.
func (b *bench) clear() {
	if b.callHangs {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), b.Limit)
	defer cancel()
	for _, p := range b.pods {
		if status, err := b.observe(ctx, p.UID); err == nil && len(running(status)) > 0 {
			_ = b.Syncer.SyncTerminatingPod(podworkers.WithIncarnation(ctx, b.incarnation), p, status, new(int64(1)), nil)
		}
	}
}
