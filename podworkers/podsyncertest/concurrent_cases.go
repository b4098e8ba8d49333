package podsyncertest

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

var concurrentCases = []Case{
	{Name: "concurrent/pods", Promise: "Different pods are started, stopped and cleaned up at the same time.", run: (*testCase).runManyPods},
	{Name: "concurrent/slow-pod", Promise: "A pod that waits for its grace period does not delay the start of another pod.", requires: ignoreStop, run: (*testCase).startBesideSlowPod},
}

// runManyPods starts, stops and cleans up many pods at once.
func (b *testCase) runManyPods() {
	pods := make([]*v1.Pod, 16)
	for i := range pods {
		pods[i] = b.newPod(fmt.Sprint("pod-", i))
	}
	errs := make([]error, len(pods))
	var group sync.WaitGroup
	for i, p := range pods {
		group.Go(func() { errs[i] = b.runPodToEnd(p) })
	}
	group.Wait()
	for i := range errs {
		b.Must(errs[i], "pod "+pods[i].Name)
	}
}

// runPodToEnd starts a pod, stops it and cleans up.
func (b *testCase) runPodToEnd(p *v1.Pod) error {
	if err := b.syncUntilRunning(p, podworkers.SyncPodCreate, nil); err != nil {
		return err
	}
	if err := b.terminateUntilStopped(p, nil, nil); err != nil {
		return err
	}
	return b.cleanUpUntilDone(p)
}

// startBesideSlowPod starts a pod while another one waits for its grace period.
func (b *testCase) startBesideSlowPod() {
	slow, other := b.mustStart(b.newPod("a", b.IgnoreStop, setLongGrace)), b.newPod("b")
	status := b.mustPodStatus(slow)
	ctx, cancel := context.WithCancel(b.callContext())
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = b.Syncer.SyncTerminatingPod(ctx, slow, status, nil, nil) })
	_ = podworkers.Wait(b.Context(), firstPause) // The grace period has started.
	err := b.syncUntilRunning(other, podworkers.SyncPodCreate, nil)
	cancel()
	b.checkReturns("SyncTerminatingPod", waiting.Wait)
	b.Must(err, "start of a pod while another one is being stopped")
}
