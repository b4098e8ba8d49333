//go:build peer

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubepleg "k8s.io/kubernetes/pkg/kubelet/pleg"
	"k8s.io/utils/clock"
)

// kubeletEvents is the capacity of the kubelet's channel of pod lifecycle events.
const kubeletEvents = 1000

// kubeletRuntime is a fakeRuntime as a runtime of the kubelet. The PLEG calls no other methods.
type kubeletRuntime struct {
	kubecontainer.Runtime
	listing[*kubecontainer.Pod]
}

func newKubeletRuntime(r *fakeRuntime) *kubeletRuntime {
	return &kubeletRuntime{listing: listing[*kubecontainer.Pod]{runtime: r, build: kubeletPod}}
}

// kubeletPod converts a pod.
func kubeletPod(p fakePod) *kubecontainer.Pod {
	state := kubecontainer.ContainerStateExited
	if p.running {
		state = kubecontainer.ContainerStateRunning
	}
	return &kubecontainer.Pod{
		ID: p.uid, Namespace: "default", Timestamp: time.Now(),
		Sandboxes:  []*kubecontainer.Container{{ID: kubecontainer.BuildContainerID("cri", p.sandboxID), State: state}},
		Containers: []*kubecontainer.Container{{ID: kubecontainer.BuildContainerID("cri", p.containerID), Name: "main", PodSandboxID: p.sandboxID, State: state}},
	}
}

// GetPods returns all pods.
func (r *kubeletRuntime) GetPods(context.Context, bool) ([]*kubecontainer.Pod, error) {
	return r.takeListing(), nil
}

// GetPod returns a pod without containers if it does not exist.
func (r *kubeletRuntime) GetPod(_ context.Context, uid types.UID) (*kubecontainer.Pod, error) {
	p, found := r.runtime.getPod(uid)
	if !found {
		return &kubecontainer.Pod{ID: uid, Timestamp: time.Now()}, nil
	}
	return kubeletPod(p), nil
}

// GetPodStatus returns the status of a pod of a listing.
func (r *kubeletRuntime) GetPodStatus(_ context.Context, pod *kubecontainer.Pod) (*kubecontainer.PodStatus, error) {
	status := &kubecontainer.PodStatus{ID: pod.ID, Namespace: pod.Namespace, TimeStamp: time.Now()}
	p, found := r.runtime.getPod(pod.ID)
	if !found {
		return status, nil
	}
	now := kubeletPod(p)
	ready := runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	if p.running {
		ready = runtimeapi.PodSandboxState_SANDBOX_READY
	}
	status.SandboxStatuses = []*runtimeapi.PodSandboxStatus{{Id: p.sandboxID, State: ready}}
	status.ContainerStatuses = []*kubecontainer.Status{{ID: now.Containers[0].ID, Name: "main", State: now.Containers[0].State}}
	return status, nil
}

// kubeletPLEG is a PLEG of the kubelet. It is not started.
type kubeletPLEG struct {
	*kubepleg.GenericPLEG
	*kubeletRuntime
	events  chan *kubepleg.PodLifecycleEvent
	changed map[types.UID]struct{}
}

func (kubeletDriver) newPLEG(r *fakeRuntime) relister {
	adapter, events := newKubeletRuntime(r), make(chan *kubepleg.PodLifecycleEvent, 4*kubeletEvents)
	period := &kubepleg.RelistDuration{RelistPeriod: time.Second, RelistThreshold: 3 * time.Minute}
	p := kubepleg.NewGenericPLEG(adapter, events, period, kubecontainer.NewCache(), clock.RealClock{})
	return &kubeletPLEG{p.(*kubepleg.GenericPLEG), adapter, events, map[types.UID]struct{}{}}
}

func (p *kubeletPLEG) relistPods() int {
	p.Relist(context.Background())
	clear(p.changed)
	for {
		select {
		case e := <-p.events:
			p.changed[e.ID] = struct{}{}
		default:
			return len(p.changed)
		}
	}
}
