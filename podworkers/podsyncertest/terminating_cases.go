package podsyncertest

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

var terminatingCases = []Case{
	{Name: "terminating/stops", Promise: "When SyncTerminatingPod has returned nil no container of the pod runs.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		b.stopped("SyncTerminatingPod", p)
	}},
	{Name: "terminating/again", Promise: "SyncTerminatingPod may be repeated after it has returned nil.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		b.stop(p)
	}},
	{Name: "terminating/never-started", Promise: "SyncTerminatingPod of a pod that was never synced returns nil and starts nothing.", run: func(b *bench) {
		p := b.pod("a")
		b.stop(p)
		b.stopped("SyncTerminatingPod", p)
	}},
	{Name: "terminating/grace", Promise: "SyncTerminatingPod kills a container after the grace that it is given, also where the spec has a longer one.", needs: ignoreStop, run: func(b *bench) {
		p := b.start(b.pod("a", b.IgnoreStop, longGrace))
		b.Must(b.bringDown(p, new(int64(1)), nil), "SyncTerminatingPod with a grace of 1")
		b.stopped("SyncTerminatingPod with a grace of 1", p)
	}},
	{Name: "terminating/cancelled", Promise: "SyncTerminatingPod whose context ends during the grace returns soon, with an error.", needs: ignoreStop, run: func(b *bench) {
		p := b.start(b.pod("a", b.IgnoreStop, longGrace))
		status := b.status(p)
		ctx, cancel := context.WithTimeout(b.context(), firstPause)
		defer cancel()
		var err error
		b.returns("SyncTerminatingPod", func() { err = b.Syncer.SyncTerminatingPod(ctx, p, status, nil, nil) })
		if err == nil && len(b.running(p)) > 0 {
			b.Failf("SyncTerminatingPod returned nil when its context ended, and the container runs")
		}
	}},
	{Name: "terminating/status-func", Promise: "SyncTerminatingPod calls a podStatusFn that is not nil, with a status.", run: (*bench).statusFunc},
	{Name: "terminating/read-only", Promise: "SyncTerminatingPod changes neither the pod, nor the status, nor the grace.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		status, grace := b.status(p), new(int64(1))
		b.readOnly("SyncTerminatingPod", func() { _ = b.Syncer.SyncTerminatingPod(b.context(), p, status, grace, nil) }, p, status, grace)
	}},
	{Name: "terminating/others", Promise: "SyncTerminatingPod leaves other pods alone.", run: func(b *bench) {
		p, other := b.start(b.pod("a")), b.start(b.pod("b"))
		before := b.running(other)
		b.stop(p)
		b.undisturbed(other, before)
	}},
	{Name: "terminating/new-process", Promise: "SyncTerminatingPod of another process stops a pod that it has never synced.", needs: restart, run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.Syncer = b.Restart()
		b.stop(p)
		b.stopped("SyncTerminatingPod", p)
	}},
}

// longGrace gives a container much longer than a case may take.
func longGrace(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(100_000)) }

// statusFunc stops a pod with a podStatusFn.
func (b *bench) statusFunc() {
	p := b.start(b.pod("a"))
	var called atomic.Bool
	b.Must(b.bringDown(p, nil, func(status *v1.PodStatus) {
		called.Store(status != nil)
	}), "SyncTerminatingPod with a podStatusFn")
	if !called.Load() {
		b.Failf("podStatusFn was not called with a status")
	}
}
