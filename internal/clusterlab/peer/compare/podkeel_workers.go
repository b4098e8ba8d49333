//go:build peer

package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// podkeelDriver drives the packages of Podkeel.
type podkeelDriver struct{}

func (podkeelDriver) name() string { return "Podkeel" }

// discardLog formats messages of level info and discards them, as the kubelet's side does.
func discardLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// podkeelSyncer passes the calls of the workers to a syncer.
type podkeelSyncer struct{ syncer }

func (s podkeelSyncer) SyncPod(_ context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	s.syncPod(pod.UID)
	return false, nil
}

func (s podkeelSyncer) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	s.terminating(pod.UID)
	return nil
}

func (podkeelSyncer) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

func (s podkeelSyncer) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	s.terminated(pod.UID)
	return nil
}

// podkeelWorkers are running podworkers.Workers.
type podkeelWorkers struct {
	*podworkers.Workers
	stop_ func()
}

func (d podkeelDriver) newWorkers(s syncer) podWorkers { return d.runWorkers(s, podworkers.NoCache{}) }

func (d podkeelDriver) newNode(s syncer, r *fakeRuntime) podWorkers {
	p, err := pleg.New(pleg.Config{Runtime: newPodkeelRuntime(r), Log: discardLog()})
	exitOnError(err)
	changes := p.Subscribe(nil)
	stop := startRun(p.Run)
	w := d.runWorkers(s, p)
	stopWorkers := w.stop_
	w.stop_ = func() { stopWorkers(); changes.Close(); stop() }
	return w
}

// runWorkers returns running workers that read statuses from a cache.
func (podkeelDriver) runWorkers(s syncer, cache runtime.StatusCache) *podkeelWorkers {
	w, err := podworkers.New(podworkers.Config{Syncer: podkeelSyncer{s}, Cache: cache, Log: discardLog()})
	exitOnError(err)
	return &podkeelWorkers{w, startRun(w.Run)}
}

func (w *podkeelWorkers) sendUpdate(pod *v1.Pod, kind updateKind) {
	kinds := [...]podworkers.SyncPodType{createPod: podworkers.SyncPodCreate, updatePod: podworkers.SyncPodUpdate, killPod: podworkers.SyncPodKill}
	exitOnError(w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: kinds[kind], Pod: pod, StartTime: time.Now()}))
}

func (w *podkeelWorkers) forgetFinished() int {
	return len(w.SyncKnownPods(podworkers.KnownPods{Generation: w.Generation(), AllSources: true}))
}

func (w *podkeelWorkers) stopWorkers() { w.stop_() }

// podkeelQueue is a workqueue.Queue.
type podkeelQueue struct {
	*workqueue.Queue
	buffer []types.UID
}

func (podkeelDriver) newQueue() workQueue {
	return &podkeelQueue{Queue: workqueue.New(workqueue.Config{})}
}

func (q *podkeelQueue) enqueue(uid types.UID, now bool) {
	if now {
		q.Enqueue(uid, 0)
		return
	}
	q.Enqueue(uid, time.Hour)
}

func (q *podkeelQueue) takeDue() []types.UID {
	q.buffer = q.GetWork(time.Now(), q.buffer[:0])
	return q.buffer
}
