//go:build peer

package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubepleg "k8s.io/kubernetes/pkg/kubelet/pleg"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util/queue"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/clusterlab/peer/kubelet"
)

// kubeletDriver drives the packages of the kubelet.
type kubeletDriver struct{}

func (kubeletDriver) name() string { return "kubelet" }

// kubeletResync and kubeletBackOff are the periods that the kubelet passes to its pod workers.
const (
	kubeletResync  = time.Minute
	kubeletBackOff = 10 * time.Second
)

// kubeletSyncer passes the calls of the workers to a syncer.
type kubeletSyncer struct {
	syncer
	// postSync is called after each SyncPod. Nil: nothing is called.
	postSync func(uid types.UID)
}

func (s kubeletSyncer) SyncPod(_ context.Context, _ kubetypes.SyncPodType, pod, _ *v1.Pod, _ *kubecontainer.PodStatus) (bool, func(), error) {
	s.syncPod(pod.UID)
	if s.postSync == nil {
		return false, nil, nil
	}
	return false, func() { s.postSync(pod.UID) }, nil
}

func (s kubeletSyncer) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *kubecontainer.PodStatus, _ *int64, _ func(*v1.PodStatus)) error {
	s.terminating(pod.UID)
	return nil
}

func (kubeletSyncer) SyncTerminatingRuntimePod(context.Context, *kubecontainer.Pod) error { return nil }

func (s kubeletSyncer) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *kubecontainer.PodStatus) error {
	s.terminated(pod.UID)
	return nil
}

// freshCache has an empty status of each pod that is newer than any time.
type freshCache struct{}

func (freshCache) Get(uid types.UID) (*kubecontainer.PodStatus, error) {
	return &kubecontainer.PodStatus{ID: uid}, nil
}

func (c freshCache) GetNewerThan(uid types.UID, _ time.Time) (*kubecontainer.PodStatus, error) {
	return c.Get(uid)
}

// kubeletWorkers are the pod workers of the kubelet.
type kubeletWorkers struct {
	kubelet.PodWorkers
	stop_ func()
}

func (kubeletDriver) newWorkers(s syncer) podWorkers {
	return runKubeletWorkers(kubeletSyncer{syncer: s}, freshCache{})
}

func (kubeletDriver) newNode(s syncer, r *fakeRuntime) podWorkers {
	ctx, cancel := context.WithCancel(context.Background())
	cache, events := kubecontainer.NewCache(), make(chan *kubepleg.PodLifecycleEvent, kubeletEvents)
	period := &kubepleg.RelistDuration{RelistPeriod: time.Second, RelistThreshold: 3 * time.Minute}
	p := kubepleg.NewGenericPLEG(newKubeletRuntime(r), events, period, cache, clock.RealClock{})
	p.Start(ctx)
	go func() {
		for {
			select {
			case <-events:
			case <-ctx.Done():
				return
			}
		}
	}()
	// Kubelet.SyncPod requests a relist after it has changed containers.
	w := runKubeletWorkers(kubeletSyncer{s, func(uid types.UID) { p.RequestRelist(klog.Background(), uid) }}, cache)
	w.stop_ = func() {
		p.(*kubepleg.GenericPLEG).Stop()
		cancel()
	}
	return w
}

// runKubeletWorkers returns workers that read statuses from a cache. They need no Run.
func runKubeletWorkers(s kubeletSyncer, cache kubecontainer.ROCache) *kubeletWorkers {
	queue := queue.NewBasicWorkQueue(clock.RealClock{})
	return &kubeletWorkers{kubelet.NewPodWorkers(s, &record.FakeRecorder{}, queue, kubeletResync, kubeletBackOff, cache), func() {}}
}

func (w *kubeletWorkers) sendUpdate(pod *v1.Pod, kind updateKind) {
	kinds := [...]kubetypes.SyncPodType{createPod: kubetypes.SyncPodCreate, updatePod: kubetypes.SyncPodUpdate, killPod: kubetypes.SyncPodKill}
	w.UpdatePod(context.Background(), kubelet.UpdatePodOptions{UpdateType: kinds[kind], Pod: pod, StartTime: time.Now()})
}

func (w *kubeletWorkers) forgetFinished() int { return len(w.SyncKnownPods(klog.Background(), nil)) }

func (w *kubeletWorkers) stopWorkers() { w.stop_() }

// kubeletQueue is the work queue of the kubelet.
type kubeletQueue struct{ queue.WorkQueue }

func (kubeletDriver) newQueue() workQueue {
	return kubeletQueue{queue.NewBasicWorkQueue(clock.RealClock{})}
}

func (q kubeletQueue) enqueue(uid types.UID, now bool) {
	if now {
		q.Enqueue(uid, -time.Nanosecond) // A pod is due strictly after its time.
		return
	}
	q.Enqueue(uid, time.Hour)
}

func (q kubeletQueue) takeDue() []types.UID { return q.GetWork() }
