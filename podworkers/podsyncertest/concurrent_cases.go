package podsyncertest

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

var concurrentCases = []Case{
	{Name: "concurrent/pods", Promise: "Different pods are started, stopped and cleaned up at the same time.", run: (*testCase).checkManyPodsConcurrently},
	{Name: "concurrent/slow-pod", Promise: "A pod that waits for its grace period does not delay the start of another pod.", requires: ignoreStop, run: (*testCase).checkStartBesideSlowPod},
}

// checkManyPodsConcurrently starts, stops and cleans up 16 pods at the same time. It fails the case if that
// fails for one of them.
func (b *testCase) checkManyPodsConcurrently() {
	pods := make([]*v1.Pod, 16)
	for i := range pods {
		pods[i] = b.newPodForCase(fmt.Sprint("pod-", i))
	}
	errs := make([]error, len(pods))
	var group sync.WaitGroup
	for i, p := range pods {
		group.Go(func() { errs[i] = b.startStopAndCleanUpPod(p) })
	}
	group.Wait()
	for i := range errs {
		b.Must(errs[i], "pod "+pods[i].Name)
	}
}

// startStopAndCleanUpPod starts a pod, stops it and cleans up. It returns the first error, and does not go on
// after it.
func (b *testCase) startStopAndCleanUpPod(p *v1.Pod) error {
	if err := b.syncUntilRunning(p, podworkers.SyncPodCreate, nil); err != nil {
		return err
	}
	if err := b.terminateUntilStopped(p, nil, nil); err != nil {
		return err
	}
	return b.cleanUpUntilDone(p)
}

// checkStartBesideSlowPod fails the case if a pod cannot start while the stop of another pod waits for its
// grace period, or if that stop does not return after its context was cancelled.
func (b *testCase) checkStartBesideSlowPod() {
	slow, other := b.mustStartPod(b.newPodForCase("a", b.IgnoreStop, setLongGrace)), b.newPodForCase("b")
	status := b.mustPodStatus(slow)
	ctx, cancel := context.WithCancel(b.callContext())
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = b.Syncer.SyncTerminatingPod(ctx, slow, status, nil, nil) })
	_ = podworkers.Wait(b.Context(), firstPause) // The grace period has started.
	err := b.syncUntilRunning(other, podworkers.SyncPodCreate, nil)
	cancel()
	b.checkReturnsWithinLimit("SyncTerminatingPod", waiting.Wait)
	b.Must(err, "start of a pod while another one is being stopped")
}
