//go:build peer

package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// podkeelRuntime is a fakeRuntime as a runtime.PodLister.
type podkeelRuntime struct{ listing[runtime.Pod] }

func newPodkeelRuntime(r *fakeRuntime) *podkeelRuntime {
	return &podkeelRuntime{listing[runtime.Pod]{runtime: r, build: podkeelPod}}
}

// podkeelPod converts a pod.
func podkeelPod(p fakePod) runtime.Pod {
	state := runtime.StateExited
	if p.running {
		state = runtime.StateRunning
	}
	return runtime.Pod{
		UID: p.uid, Namespace: "default",
		Sandboxes:  []runtime.Sandbox{{ID: p.sandboxID, Ready: p.running}},
		Containers: []runtime.Container{{ID: p.containerID, Name: "main", SandboxID: p.sandboxID, State: state}},
	}
}

// ListPods implements runtime.PodLister.
func (r *podkeelRuntime) ListPods(context.Context) ([]runtime.Pod, error) {
	return r.takeListing(), nil
}

// PodStatus implements runtime.PodLister.
func (r *podkeelRuntime) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	p, found := r.runtime.getPod(uid)
	if !found {
		return &runtime.PodStatus{UID: uid}, nil
	}
	pod := podkeelPod(p)
	return &runtime.PodStatus{
		UID: uid, Namespace: pod.Namespace,
		Sandboxes:  []runtime.SandboxStatus{{Sandbox: pod.Sandboxes[0]}},
		Containers: []runtime.ContainerStatus{{Container: pod.Containers[0]}},
	}, nil
}

// podkeelPLEG is a pleg.PLEG and its only subscription.
type podkeelPLEG struct {
	*pleg.PLEG
	*podkeelRuntime
	changes pleg.Subscription
	buffer  []pleg.Change
}

func (podkeelDriver) newPLEG(r *fakeRuntime) relister {
	adapter := newPodkeelRuntime(r)
	p, err := pleg.New(pleg.Config{Runtime: adapter, Log: discardLog()})
	exitOnError(err)
	return &podkeelPLEG{PLEG: p, podkeelRuntime: adapter, changes: p.Subscribe(nil)}
}

func (p *podkeelPLEG) relistPods() int {
	exitOnError(p.Relist(context.Background()))
	p.buffer = p.changes.TakeAll(p.buffer[:0])
	return len(p.buffer)
}
