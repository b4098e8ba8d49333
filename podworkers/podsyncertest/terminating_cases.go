package podsyncertest

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

var terminatingCases = []Case{
	{Name: "terminating/stops", Promise: "When SyncTerminatingPod has returned nil no container of the pod runs.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		b.checkNoContainerRuns("SyncTerminatingPod", p)
	}},
	{Name: "terminating/again", Promise: "SyncTerminatingPod may be repeated after it has returned nil.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		b.mustStopPod(p)
	}},
	{Name: "terminating/never-started", Promise: "SyncTerminatingPod of a pod that was never synced returns nil and starts nothing.", run: func(b *testCase) {
		p := b.newPodForCase("a")
		b.mustStopPod(p)
		b.checkNoContainerRuns("SyncTerminatingPod", p)
	}},
	{Name: "terminating/grace", Promise: "SyncTerminatingPod kills a container after the given grace period, also if the spec has a longer one.", requires: ignoreStop, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a", b.IgnoreStop, setLongGrace))
		b.Must(b.terminateUntilStopped(p, new(int64(1)), nil), "SyncTerminatingPod with a grace of 1")
		b.checkNoContainerRuns("SyncTerminatingPod with a grace of 1", p)
	}},
	{Name: "terminating/cancelled", Promise: "SyncTerminatingPod returns soon, with an error, if its context ends during the grace period.", requires: ignoreStop, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a", b.IgnoreStop, setLongGrace))
		status := b.mustPodStatus(p)
		ctx, cancel := context.WithTimeout(b.callContext(), firstPause)
		defer cancel()
		var err error
		b.checkReturnsWithinLimit("SyncTerminatingPod", func() { err = b.Syncer.SyncTerminatingPod(ctx, p, status, nil, nil) })
		if err == nil && len(b.mustRunningContainerIDs(p)) > 0 {
			b.Failf("SyncTerminatingPod returned nil when its context ended, but the container is running")
		}
	}},
	{Name: "terminating/status-func", Promise: "SyncTerminatingPod calls a podStatusFn that is not nil, with a status.", run: (*testCase).checkStatusFuncCalled},
	{Name: "terminating/read-only", Promise: "SyncTerminatingPod modifies neither the pod, nor the status, nor the grace period.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		status, grace := b.mustPodStatus(p), new(int64(1))
		b.checkArgumentsUnchanged("SyncTerminatingPod", func() { _ = b.Syncer.SyncTerminatingPod(b.callContext(), p, status, grace, nil) }, p, status, grace)
	}},
	{Name: "terminating/others", Promise: "SyncTerminatingPod does not affect other pods.", run: func(b *testCase) {
		p, other := b.mustStartPod(b.newPodForCase("a")), b.mustStartPod(b.newPodForCase("b"))
		before := b.mustRunningContainerIDs(other)
		b.mustStopPod(p)
		b.checkSameContainersRun(other, before)
	}},
	{Name: "terminating/new-process", Promise: "SyncTerminatingPod of a new process stops a pod that it has never synced.", requires: restart, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.Syncer = b.Restart()
		b.mustStopPod(p)
		b.checkNoContainerRuns("SyncTerminatingPod", p)
	}},
}

// setLongGrace sets a termination grace period that is much longer than a case may take.
func setLongGrace(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(100_000)) }

// checkStatusFuncCalled starts and terminates a pod, and fails the case if SyncTerminatingPod does not call its
// podStatusFn with a status.
func (b *testCase) checkStatusFuncCalled() {
	p := b.mustStartPod(b.newPodForCase("a"))
	var called atomic.Bool
	b.Must(b.terminateUntilStopped(p, nil, func(status *v1.PodStatus) {
		called.Store(status != nil)
	}), "SyncTerminatingPod with a podStatusFn")
	if !called.Load() {
		b.Failf("podStatusFn was not called with a status")
	}
}
