package podsyncertest

import "context"

var terminatedCases = []Case{
	{Name: "terminated/again", Promise: "SyncTerminatedPod succeeds after the pod has ended, and may be repeated.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		b.finish(p)
		b.finish(p)
	}},
	{Name: "terminated/never-started", Promise: "SyncTerminatedPod succeeds for a pod that was never synced, of which there is nothing.", run: func(b *bench) { b.finish(b.pod("a")) }},
	{Name: "terminated/cancelled", Promise: "SyncTerminatedPod whose context has ended returns soon.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		status := b.status(p)
		ctx, cancel := context.WithCancel(b.context())
		cancel()
		b.returns("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(ctx, p, status) })
	}},
	{Name: "terminated/read-only", Promise: "SyncTerminatedPod changes neither the pod nor the status.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		status := b.status(p)
		b.readOnly("SyncTerminatedPod", func() { _ = b.Syncer.SyncTerminatedPod(b.context(), p, status) }, p, status)
	}},
	{Name: "terminated/others", Promise: "SyncTerminatedPod leaves other pods alone.", run: func(b *bench) {
		p, other := b.start(b.pod("a")), b.start(b.pod("b"))
		before := b.running(other)
		b.stop(p)
		b.undisturbed(other, before)
		b.finish(p)
		b.undisturbed(other, before)
	}},
}
