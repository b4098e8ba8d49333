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

// testCase is the state of one running case.
type testCase struct {
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

// checkArgumentsUnchanged runs call, and fails the case if it has modified one of the arguments. It compares
// them as JSON.
func (b *testCase) checkArgumentsUnchanged(name string, call func(), arguments ...any) {
	b.Helper()
	before := b.marshalArguments(arguments)
	call()
	if after := b.marshalArguments(arguments); before != after {
		b.Failf("%s has modified an argument: before %s, after %s", name, before, after)
	}
}

// marshalArguments returns the arguments as JSON. It fails the case if that is impossible.
func (b *testCase) marshalArguments(arguments []any) string {
	b.Helper()
	text, err := json.Marshal(arguments)
	b.Must(err, "json.Marshal of the arguments")
	return string(text)
}

// newPodForCase returns a pod with one container that runs until it is stopped, changed by the case's Pod
// function and by changes. It does not start the pod. The case stops the pod at its end if its containers still
// run.
func (b *testCase) newPodForCase(name string, changes ...func(*v1.Pod)) *v1.Pod {
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

// callContext returns the context for one call of the syncer. It has the number of the pod's incarnation, which
// is the same in the whole case.
func (b *testCase) callContext() context.Context {
	return podworkers.WithIncarnation(b.Context(), b.incarnation)
}

// podStatus returns the status of a pod from the runtime. It returns an error if the runtime returns an error
// or no status.
func (b *testCase) podStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := b.Runtime.PodStatus(ctx, uid)
	if err == nil && status == nil {
		err = errors.New("no status")
	}
	if err != nil {
		err = fmt.Errorf("PodStatus of the runtime: %w", err)
	}
	return status, err
}

// mustPodStatus returns the status of a pod from the runtime. It fails the case if there is none.
func (b *testCase) mustPodStatus(p *v1.Pod) *runtime.PodStatus {
	b.Helper()
	status, err := b.podStatus(b.callContext(), p.UID)
	b.Must(err, "before a call")
	return status
}

// mustRunningContainerIDs returns the sorted IDs of the pod's running containers. It fails the case if the
// runtime returns no status.
func (b *testCase) mustRunningContainerIDs(p *v1.Pod) []string {
	b.Helper()
	return runningContainerIDs(b.mustPodStatus(p))
}

// runningContainerIDs returns the sorted IDs of the running containers in a status.
func runningContainerIDs(status *runtime.PodStatus) (ids []string) {
	for i := range status.Containers {
		if status.Containers[i].State == runtime.StateRunning {
			ids = append(ids, status.Containers[i].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// retryUntilDone repeats f, with growing pauses, until f returns true and no error. After the case's Limit it
// returns an error that wraps the last error of f. call names f in that error.
func (b *testCase) retryUntilDone(call string, f func(ctx context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(b.callContext(), b.Limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		done, err := f(ctx)
		if done && err == nil {
			return nil
		}
		if podworkers.Wait(ctx, pause) != nil {
			return fmt.Errorf("%s, repeated for %s, does not succeed; last: %w", call, b.Limit, errorOrNotReached(err))
		}
	}
}

// errorOrNotReached returns err. If err is nil, it returns an error which says that the pod is not in the
// expected state.
func errorOrNotReached(err error) error {
	if err == nil {
		return errors.New("no error, but the pod is not in the expected state")
	}
	return err
}

// syncUntilRunning repeats SyncPod until it returns no error and a container of the pod runs. If SyncPod
// reports the pod as terminal, that counts as an error. After the case's Limit it returns an error.
func (b *testCase) syncUntilRunning(p *v1.Pod, kind podworkers.SyncPodType, mirror *v1.Pod) error {
	return b.retryUntilDone("SyncPod", func(ctx context.Context) (bool, error) {
		before, err := b.podStatus(ctx, p.UID)
		if err != nil {
			return false, err
		}
		terminal, err := b.Syncer.SyncPod(ctx, kind, p, mirror, before)
		if err == nil && terminal {
			err = errors.New("SyncPod reported the pod as terminal")
		}
		after, failed := b.podStatus(ctx, p.UID)
		return failed == nil && len(runningContainerIDs(after)) > 0, errors.Join(err, failed)
	})
}

// terminateUntilStopped repeats SyncTerminatingPod until it returns nil. After the case's Limit it returns an
// error. It does not check that the containers have stopped.
func (b *testCase) terminateUntilStopped(p *v1.Pod, grace *int64, change podworkers.PodStatusFunc) error {
	return b.retryUntilDone("SyncTerminatingPod", func(ctx context.Context) (bool, error) {
		status, err := b.podStatus(ctx, p.UID)
		if err != nil {
			return false, err
		}
		return true, b.Syncer.SyncTerminatingPod(ctx, p, status, grace, change)
	})
}

// cleanUpUntilDone repeats SyncTerminatedPod until it returns nil. After the case's Limit it returns an error.
func (b *testCase) cleanUpUntilDone(p *v1.Pod) error {
	return b.retryUntilDone("SyncTerminatedPod", func(ctx context.Context) (bool, error) {
		status, err := b.podStatus(ctx, p.UID)
		if err != nil {
			return false, err
		}
		return true, b.Syncer.SyncTerminatedPod(ctx, p, status)
	})
}

// mustStartPod repeats SyncPod until a container of the pod runs, and returns p. It fails the case after the
// Limit.
func (b *testCase) mustStartPod(p *v1.Pod) *v1.Pod {
	b.Helper()
	b.Must(b.syncUntilRunning(p, podworkers.SyncPodCreate, nil), "start of pod "+p.Name)
	return p
}

// mustStopPod repeats SyncTerminatingPod until it returns nil. It fails the case after the Limit.
func (b *testCase) mustStopPod(p *v1.Pod) {
	b.Helper()
	b.Must(b.terminateUntilStopped(p, nil, nil), "stop of pod "+p.Name)
}

// mustCleanUpPod repeats SyncTerminatedPod until it returns nil. It fails the case after the Limit.
func (b *testCase) mustCleanUpPod(p *v1.Pod) {
	b.Helper()
	b.Must(b.cleanUpUntilDone(p), "cleanup after pod "+p.Name)
}

// checkNoContainerRuns fails the case if a container of the pod runs now. call names the call that has stopped
// the pod, for the message.
func (b *testCase) checkNoContainerRuns(call string, p *v1.Pod) {
	b.Helper()
	if ids := b.mustRunningContainerIDs(p); len(ids) > 0 {
		b.Failf("%s of pod %s returned nil, but containers %q are running", call, p.Name, ids)
	}
}

// checkSameContainersRun fails the case unless the sorted IDs of the pod's running containers equal before.
func (b *testCase) checkSameContainersRun(p *v1.Pod, before []string) {
	b.Helper()
	if after := b.mustRunningContainerIDs(p); !slices.Equal(before, after) {
		b.Failf("the running containers of pod %s changed from %q to %q", p.Name, before, after)
	}
}

// checkReturnsWithinLimit runs f, and fails the case if f does not return within the case's Limit. In that case
// it also stores that a call hangs, so that the pods are not stopped at the end of the case.
func (b *testCase) checkReturnsWithinLimit(call string, f func()) {
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

// stopRemainingPods calls SyncTerminatingPod once for each pod of the case whose containers still run, and
// ignores errors. If a call of the syncer has not returned it does nothing, because calls for one pod must not
// run concurrently.
func (b *testCase) stopRemainingPods() {
	if b.callHangs {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), b.Limit)
	defer cancel()
	for _, p := range b.pods {
		if status, err := b.podStatus(ctx, p.UID); err == nil && len(runningContainerIDs(status)) > 0 {
			_ = b.Syncer.SyncTerminatingPod(podworkers.WithIncarnation(ctx, b.incarnation), p, status, new(int64(1)), nil)
		}
	}
}
