package podsyncertest

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

var syncCases = []Case{
	{Name: "sync/starts", Promise: "SyncPod, repeated, starts the container of a pod.", run: func(b *testCase) { b.mustStartPod(b.newPodForCase("a")) }},
	{Name: "sync/again", Promise: "SyncPod of a pod that runs according to its spec returns false and nil, and starts and stops nothing.", run: (*testCase).checkRepeatedSyncOfNewPod},
	{Name: "sync/types", Promise: "SyncPod starts a pod for every type of its first update.", run: func(b *testCase) {
		for name, kind := range map[string]podworkers.SyncPodType{
			"sync": podworkers.SyncPodSync, "update": podworkers.SyncPodUpdate, "create": podworkers.SyncPodCreate,
		} {
			b.Must(b.syncUntilRunning(b.newPodForCase(name), kind, nil), name)
		}
	}},
	{Name: "sync/mirror", Promise: "SyncPod starts a pod that has a mirror pod.", run: func(b *testCase) {
		p := b.newPodForCase("a")
		b.Must(b.syncUntilRunning(p, podworkers.SyncPodUpdate, newMirrorPod(p)), "SyncPod with a mirror pod")
	}},
	{Name: "sync/read-only", Promise: "SyncPod modifies neither the pod, nor the mirror pod, nor the status.", run: func(b *testCase) {
		p := b.newPodForCase("a")
		mirror := newMirrorPod(p)
		for range 3 {
			status := b.mustPodStatus(p)
			b.checkArgumentsUnchanged("SyncPod", func() {
				_, _ = b.Syncer.SyncPod(b.callContext(), podworkers.SyncPodUpdate, p, mirror, status)
			}, p, mirror, status)
		}
	}},
	{Name: "sync/cancelled", Promise: "SyncPod returns soon, with an error that wraps the context's error, if its context ends before the pod runs.", run: func(b *testCase) {
		p := b.newPodForCase("a")
		status := b.mustPodStatus(p)
		ctx, cancel := context.WithCancel(b.callContext())
		cancel()
		var err error
		b.checkReturnsWithinLimit("SyncPod", func() { _, err = b.Syncer.SyncPod(ctx, podworkers.SyncPodCreate, p, nil, status) })
		if !errors.Is(err, context.Canceled) {
			b.Failf("SyncPod returned %v", err)
		}
	}},
	{Name: "sync/restarts", Promise: "SyncPod restarts an exited container if the restart policy is Always, and does not report the pod as terminal.", requires: exit, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.Must(b.Exit(p.UID, 1), "Exit")
		b.mustStartPod(p)
	}},
	{Name: "sync/ends", Promise: "SyncPod reports a pod as terminal, with a nil error, if its container has exited and does not restart.", requires: exit, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a", func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever }))
		b.Must(b.Exit(p.UID, 0), "Exit")
		b.Must(b.retryUntilDone("SyncPod", func(ctx context.Context) (bool, error) {
			return b.Syncer.SyncPod(ctx, podworkers.SyncPodSync, p, nil, b.mustPodStatus(p))
		}), "end")
	}},
	{Name: "sync/new-incarnation", Promise: "SyncPod starts a new incarnation of a UID whose earlier incarnation was cleaned up.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		b.mustCleanUpPod(p)
		b.incarnation++
		b.mustStartPod(p)
	}},
	{Name: "sync/new-process", Promise: "SyncPod of a new process takes over a running pod, and starts and stops nothing.", requires: restart, run: func(b *testCase) {
		b.mustStartPod(b.newPodForCase("a"))
		b.Syncer = b.Restart()
		b.checkRepeatedSync(b.pods[0])
	}},
}

// checkRepeatedSyncOfNewPod starts a pod, and fails the case if further SyncPod calls start or stop a
// container, return an error or report the pod as terminal.
func (b *testCase) checkRepeatedSyncOfNewPod() {
	b.checkRepeatedSync(b.mustStartPod(b.newPodForCase("a")))
}

// checkRepeatedSync fails the case if further SyncPod calls of a running pod start or stop a container, return
// an error or report the pod as terminal.
func (b *testCase) checkRepeatedSync(p *v1.Pod) {
	b.Helper()
	before := b.mustRunningContainerIDs(p)
	for _, kind := range slices.Repeat([]podworkers.SyncPodType{podworkers.SyncPodSync, podworkers.SyncPodUpdate}, 2) {
		terminal, err := b.Syncer.SyncPod(b.callContext(), kind, p, nil, b.mustPodStatus(p))
		b.Must(err, "SyncPod of a pod that runs")
		if terminal {
			b.Failf("SyncPod reports a running pod as terminal")
		}
		b.checkSameContainersRun(p, before)
	}
}

// newMirrorPod returns a copy of a pod with another UID, to be used as its mirror pod.
func newMirrorPod(p *v1.Pod) *v1.Pod {
	mirror := p.DeepCopy()
	mirror.UID += "-mirror"
	return mirror
}
