package podsyncertest

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

var concurrentCases = []Case{
	{Name: "concurrent/pods", Promise: "Different pods are started, stopped and cleaned up at the same time.", run: (*bench).manyPods},
	{Name: "concurrent/slow-pod", Promise: "A pod whose grace has not passed keeps no other pod from starting.", needs: ignoreStop, run: (*bench).slowPod},
}

// manyPods takes many pods from their start to their end at once.
func (b *bench) manyPods() {
	pods := make([]*v1.Pod, 16)
	for i := range pods {
		pods[i] = b.pod(fmt.Sprint("pod-", i))
	}
	errs := make([]error, len(pods))
	var group sync.WaitGroup
	for i, p := range pods {
		group.Go(func() { errs[i] = b.fromStartToEnd(p) })
	}
	group.Wait()
	for i := range errs {
		b.Must(errs[i], "pod "+pods[i].Name)
	}
}

// fromStartToEnd makes the calls of a pod that is started and killed.
func (b *bench) fromStartToEnd(p *v1.Pod) error {
	if err := b.bringUp(p, podworkers.SyncPodCreate, nil); err != nil {
		return err
	}
	if err := b.bringDown(p, nil, nil); err != nil {
		return err
	}
	return b.cleanUp(p)
}

// slowPod starts a pod while another one ends.
func (b *bench) slowPod() {
	slow, other := b.start(b.pod("a", b.IgnoreStop, longGrace)), b.pod("b")
	status := b.status(slow)
	ctx, cancel := context.WithCancel(b.context())
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = b.Syncer.SyncTerminatingPod(ctx, slow, status, nil, nil) })
	_ = podworkers.Wait(b.Context(), firstPause) // The grace has begun.
	err := b.bringUp(other, podworkers.SyncPodCreate, nil)
	cancel()
	b.returns("SyncTerminatingPod", waiting.Wait)
	b.Must(err, "start of a pod while another one ends")
}
