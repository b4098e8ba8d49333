package podsyncertest

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

var runtimeCases = []Case{
	{Name: "runtime-pod/stops", Promise: "When SyncTerminatingRuntimePod has returned nil no container of the pod runs.", run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.mustStopRuntimePod(b.mustListPod(p))
		b.checkNoContainerRuns("SyncTerminatingRuntimePod", p)
	}},
	{Name: "runtime-pod/again", Promise: "SyncTerminatingRuntimePod may be repeated after it has returned nil, with a pod as it was listed before.", run: func(b *testCase) {
		pod := b.mustListPod(b.mustStartPod(b.newPodForCase("a")))
		b.mustStopRuntimePod(pod)
		b.mustStopRuntimePod(pod)
	}},
	{Name: "runtime-pod/read-only", Promise: "SyncTerminatingRuntimePod does not modify the pod.", run: func(b *testCase) {
		pod := b.mustListPod(b.mustStartPod(b.newPodForCase("a")))
		b.checkArgumentsUnchanged("SyncTerminatingRuntimePod", func() { _ = b.Syncer.SyncTerminatingRuntimePod(b.callContext(), pod) }, pod)
	}},
	{Name: "runtime-pod/others", Promise: "SyncTerminatingRuntimePod does not affect other pods.", run: func(b *testCase) {
		p, other := b.mustStartPod(b.newPodForCase("a")), b.mustStartPod(b.newPodForCase("b"))
		before := b.mustRunningContainerIDs(other)
		b.mustStopRuntimePod(b.mustListPod(p))
		b.checkSameContainersRun(other, before)
	}},
	{Name: "runtime-pod/new-process", Promise: "SyncTerminatingRuntimePod of a new process stops a pod that it has never synced.", requires: restart, run: func(b *testCase) {
		p := b.mustStartPod(b.newPodForCase("a"))
		b.Syncer = b.Restart()
		b.mustStopRuntimePod(b.mustListPod(p))
		b.checkNoContainerRuns("SyncTerminatingRuntimePod", p)
	}},
}

// mustListPod returns a pod from the runtime's list of pods. It fails the case if the list does not have the
// pod.
func (b *testCase) mustListPod(p *v1.Pod) *runtime.Pod {
	b.Helper()
	pods, err := b.Runtime.ListPods(b.callContext())
	b.Must(err, "ListPods of the runtime")
	for i := range pods {
		if pods[i].UID == p.UID {
			return &pods[i]
		}
	}
	b.Failf("ListPods of the runtime does not list pod %s, which runs", p.Name)
	return nil
}

// mustStopRuntimePod repeats SyncTerminatingRuntimePod until it returns nil. It fails the case after the Limit.
func (b *testCase) mustStopRuntimePod(pod *runtime.Pod) {
	b.Helper()
	b.Must(b.retryUntilDone("SyncTerminatingRuntimePod", func(ctx context.Context) (bool, error) {
		return true, b.Syncer.SyncTerminatingRuntimePod(ctx, pod)
	}), "stop of a pod that only the runtime shows")
}
