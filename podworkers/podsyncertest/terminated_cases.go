package podsyncertest

import "context"

var terminatedCases = []Case{
	{Name: "terminated/again", Promise: "SyncTerminatedPod succeeds after the pod was stopped, and may be repeated.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		b.mustCleanUpPod(p)
		b.mustCleanUpPod(p)
	}},
	{Name: "terminated/never-started", Promise: "SyncTerminatedPod succeeds for a pod that was never synced.", run: func(b *testCase) { b.mustCleanUpPod(b.newPodForCase("a")) }},
	{Name: "terminated/cancelled", Promise: "SyncTerminatedPod returns soon if its context has ended.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		status := b.mustPodStatus(p)
		ctx, cancel := context.WithCancel(b.callContext())
		cancel()
		b.checkReturnsWithinLimit("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(ctx, p, status) })
	}},
	{Name: "terminated/read-only", Promise: "SyncTerminatedPod modifies neither the pod nor the status.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopPod(p)
		status := b.mustPodStatus(p)
		b.checkArgumentsUnchanged("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(b.callContext(), p, status) }, p, status)
	}},
	{Name: "terminated/others", Promise: "SyncTerminatedPod does not affect other pods.", run: func(b *testCase) {
		p, other := b.mustStartPod(b.newPodForCase("a")), b.mustStartPod(b.newPodForCase("b"))
		before := b.mustRunningContainerIDs(other)
		b.mustStopPod(p)
		b.checkSameContainersRun(other, before)
		b.mustCleanUpPod(p)
		b.checkSameContainersRun(other, before)
	}},
}
