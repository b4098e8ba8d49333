//go:build peer

// Package kubelet has the pod workers of the kubelet. The overlay adds their source files.
package kubelet

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util/queue"
)

// PodSyncer is the interface that the kubelet's pod workers call.
type PodSyncer interface {
	SyncPod(ctx context.Context, updateType kubetypes.SyncPodType, pod, mirrorPod *v1.Pod, podStatus *kubecontainer.PodStatus) (bool, func(), error)
	SyncTerminatingPod(ctx context.Context, pod *v1.Pod, podStatus *kubecontainer.PodStatus, gracePeriod *int64, podStatusFn func(*v1.PodStatus)) error
	SyncTerminatingRuntimePod(ctx context.Context, runningPod *kubecontainer.Pod) error
	SyncTerminatedPod(ctx context.Context, pod *v1.Pod, podStatus *kubecontainer.PodStatus) error
}

// sameAllocation allocates to each pod the resources of its spec.
type sameAllocation struct{ allocation.Manager }

// UpdatePodFromAllocation returns the pod unchanged.
func (sameAllocation) UpdatePodFromAllocation(pod *v1.Pod) (*v1.Pod, bool) { return pod, false }

// NewPodWorkers returns the pod workers of the kubelet.
func NewPodWorkers(syncer PodSyncer, recorder record.EventRecorder, workQueue queue.WorkQueue, resync, backoff time.Duration, cache kubecontainer.ROCache) PodWorkers {
	return newPodWorkers(syncer, recorder, workQueue, resync, backoff, cache, sameAllocation{})
}
