package podsyncertest

import "context"

var terminatedCases = []Case{
	{Name: "terminated/again", Promise: "SyncTerminatedPod succeeds after the pod was stopped, and may be repeated.", run: func(b *testCase) {
		p := b.mustStart(b.newPod("a"))
		b.mustStop(p)
		b.mustCleanUp(p)
		b.mustCleanUp(p)
	}},
	{Name: "terminated/never-started", Promise: "SyncTerminatedPod succeeds for a pod that was never synced.", run: func(b *testCase) { b.mustCleanUp(b.newPod("a")) }},
	{Name: "terminated/cancelled", Promise: "SyncTerminatedPod returns soon if its context has ended.", run: func(b *testCase) {
		p := b.mustStart(b.newPod("a"))
		b.mustStop(p)
		status := b.mustPodStatus(p)
		ctx, cancel := context.WithCancel(b.callContext())
		cancel()
		b.checkReturns("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(ctx, p, status) })
	}},
	{Name: "terminated/read-only", Promise: "SyncTerminatedPod modifies neither the pod nor the status.", run: func(b *testCase) {
		p := b.mustStart(b.newPod("a"))
		b.mustStop(p)
		status := b.mustPodStatus(p)
		b.checkArgumentsUnchanged("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(b.callContext(), p, status) }, p, status)
	}},
	{Name: "terminated/others", Promise: "SyncTerminatedPod does not affect other pods.", run: func(b *testCase) {
		p, other := b.mustStart(b.newPod("a")), b.mustStart(b.newPod("b"))
		before := b.mustRunningContainerIDs(other)
		b.mustStop(p)
		b.checkSameContainers(other, before)
		b.mustCleanUp(p)
		b.checkSameContainers(other, before)
	}},
}
