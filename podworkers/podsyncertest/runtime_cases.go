package podsyncertest

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

var runtimeCases = []Case{
	{Name: "runtime-pod/stops", Promise: "When SyncTerminatingRuntimePod has returned nil no container of the pod runs.", run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.stopRuntimePod(b.listed(p))
		b.stopped("SyncTerminatingRuntimePod", p)
	}},
	{Name: "runtime-pod/again", Promise: "SyncTerminatingRuntimePod may be repeated after it has returned nil, with a pod as it was listed before.", run: func(b *bench) {
		pod := b.listed(b.start(b.pod("a")))
		b.stopRuntimePod(pod)
		b.stopRuntimePod(pod)
	}},
	{Name: "runtime-pod/read-only", Promise: "SyncTerminatingRuntimePod does not change the pod.", run: func(b *bench) {
		pod := b.listed(b.start(b.pod("a")))
		b.readOnly("SyncTerminatingRuntimePod", func() { _ = b.Syncer.SyncTerminatingRuntimePod(b.context(), pod) }, pod)
	}},
	{Name: "runtime-pod/others", Promise: "SyncTerminatingRuntimePod leaves other pods alone.", run: func(b *bench) {
		p, other := b.start(b.pod("a")), b.start(b.pod("b"))
		before := b.running(other)
		b.stopRuntimePod(b.listed(p))
		b.undisturbed(other, before)
	}},
	{Name: "runtime-pod/new-process", Promise: "SyncTerminatingRuntimePod of another process stops a pod that it has never synced.", needs: restart, run: func(b *bench) {
		p := b.start(b.pod("a"))
		b.Syncer = b.Restart()
		b.stopRuntimePod(b.listed(p))
		b.stopped("SyncTerminatingRuntimePod", p)
	}},
}

// listed returns a pod as the runtime lists it.
func (b *bench) listed(p *v1.Pod) *runtime.Pod {
	b.Helper()
	pods, err := b.Runtime.ListPods(b.context())
	b.Must(err, "ListPods of the runtime")
	for i := range pods {
		if pods[i].UID == p.UID {
			return &pods[i]
		}
	}
	b.Failf("ListPods of the runtime does not list pod %s, which runs", p.Name)
	return nil
}

// stopRuntimePod repeats SyncTerminatingRuntimePod until it returns nil.
func (b *bench) stopRuntimePod(pod *runtime.Pod) {
	b.Helper()
	b.Must(b.until("SyncTerminatingRuntimePod", func(ctx context.Context) (bool, error) {
		return true, b.Syncer.SyncTerminatingRuntimePod(ctx, pod)
	}), "end of what only the runtime knows")
}
