package podsyncertest

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

var syncCases = []Case{
	{Name: "sync/starts", Promise: "SyncPod, repeated, starts the container of a pod.", run: func(b *bench) { b.start(b.pod("a")) }},
	{Name: "sync/again", Promise: "SyncPod of a pod that runs as its spec says is no error and no end, and starts and stops nothing.", run: (*bench).syncAgain},
	{Name: "sync/types", Promise: "SyncPod brings a pod up, whatever the type of its first update.", run: func(b *bench) {
		for name, kind := range map[string]podworkers.SyncPodType{
			"sync": podworkers.SyncPodSync, "update": podworkers.SyncPodUpdate, "create": podworkers.SyncPodCreate,
		} {
			b.Must(b.bringUp(b.pod(name), kind, nil), name)
		}
	}},
	{Name: "sync/mirror", Promise: "SyncPod brings a pod up whose mirror pod it is given.", run: func(b *bench) {
		p := b.pod("a")
		b.Must(b.bringUp(p, podworkers.SyncPodUpdate, mirrorOf(p)), "SyncPod with a mirror pod")
	}},
	{Name: "sync/read-only", Promise: "SyncPod changes neither the pod, nor the mirror pod, nor the status.", run: func(b *bench) {
		p := b.pod("a")
		mirror := mirrorOf(p)
		for range 3 {
			status := b.status(p)
			b.readOnly("SyncPod", func() {
				_, _ = b.Syncer.SyncPod(b.context(), podworkers.SyncPodUpdate, p, mirror, status)
			}, p, mirror, status)
		}
	}},
	{Name: "sync/cancelled", Promise: "SyncPod whose context has ended before the pod runs returns soon, with an error that wraps that of the context.", run: func(b *bench) {
		p := b.pod("a")
		status := b.status(p)
		ctx, cancel := context.WithCancel(b.context())
		cancel()
		var err error
		b.returns("SyncPod", func() { _, err = b.Syncer.SyncPod(ctx, podworkers.SyncPodCreate, p, nil, status) })
		if !errors.Is(err, context.Canceled) {
			b.Failf("SyncPod returned %v", err)
		}
	}},
	{Name: "sync/restarts", Promise: "SyncPod starts a container again that has ended, if the restart policy is Always, and does not take that for the end of the pod.", needs: exit, run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.Must(b.Exit(p.UID, 1), "Exit")
		b.start(p)
	}},
	{Name: "sync/ends", Promise: "SyncPod of a pod whose container has ended, and does not start again, says with a nil error that the pod has come to its end.", needs: exit, run: func(b *bench) {
		p := b.start(b.pod("a", func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever }))
		b.Must(b.Exit(p.UID, 0), "Exit")
		b.Must(b.until("SyncPod", func(ctx context.Context) (bool, error) {
			return b.Syncer.SyncPod(ctx, podworkers.SyncPodSync, p, nil, b.status(p))
		}), "end")
	}},
	{Name: "sync/new-incarnation", Promise: "SyncPod starts a pod whose UID was finished before, as a new incarnation.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stop(p)
		b.finish(p)
		b.incarnation++
		b.start(p)
	}},
	{Name: "sync/new-process", Promise: "SyncPod of another process takes over a pod that runs, and starts and stops nothing.", needs: restart, run: func(b *bench) {
		b.start(b.pod("a"))
		b.Syncer = b.Restart()
		b.syncOften(b.pods[0])
	}},
}

// syncAgain syncs a pod that runs.
func (b *bench) syncAgain() { b.syncOften(b.start(b.pod("a"))) }

// syncOften holds that calls of SyncPod change nothing.
func (b *bench) syncOften(p *v1.Pod) {
	b.Helper()
	before := b.running(p)
	for _, kind := range slices.Repeat([]podworkers.SyncPodType{podworkers.SyncPodSync, podworkers.SyncPodUpdate}, 2) {
		terminal, err := b.Syncer.SyncPod(b.context(), kind, p, nil, b.status(p))
		b.Must(err, "SyncPod of a pod that runs")
		if terminal {
			b.Failf("SyncPod says of a pod that runs that it has come to its end")
		}
		b.undisturbed(p, before)
	}
}

// mirrorOf is the mirror pod of a pod.
func mirrorOf(p *v1.Pod) *v1.Pod {
	mirror := p.DeepCopy()
	mirror.UID += "-mirror"
	return mirror
}
