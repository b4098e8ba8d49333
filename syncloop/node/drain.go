package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// Drain ends all pods of the node, each within its grace, and returns when
// none runs any more, those that were deleted before included. New pods are
// refused from then on, until Undrain. The pods have Failed then, unless they had ended before, with
// reason Terminated and the condition DisruptionTarget. It needs a running node, and
// leaves it running: end Run's context afterwards. Before Run it fails with
// ErrNotRunning, and after it with ErrStopped, and changes nothing. If ctx ends first the error names the
// pods that are still ending, and they go on doing so. It may be called again,
// to go on waiting.
func (n *Node) Drain(ctx context.Context) error {
	if err := n.shut(ctx); err != nil {
		return err
	}
	return await(ctx, slices.Concat(n.endDesired(every, nil), n.endUndesired(nil, nil)))
}

// await waits until all have ended.
func await(ctx context.Context, all []ending) error {
	var errs []error
	for _, e := range all {
		if err := e.done.Wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("node: pod %s has not ended: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}

// shut begins to refuse pods, and waits until the loop has done what it was about:
// a pod that was admitted in the last moment has its worker then, and can be found.
// Before Run, and when it has ended, it fails and changes nothing.
func (n *Node) shut(ctx context.Context) error {
	n.mu.Lock()
	ran := n.mu.ran
	n.mu.Unlock()
	switch {
	case !ran:
		return ErrNotRunning
	case n.done.Opened():
		return ErrStopped
	}
	n.drained.Store(true)
	n.draining.Store(true)
	if err := n.loop.Flush(ctx); err != nil && !errors.Is(err, syncloop.ErrStopped) {
		return err
	}
	return nil
}

// ending is a pod that has been told to end.
type ending struct {
	uid  types.UID
	name string
	done *podworkers.Completion
}

// every pod is told to end.
func every(*v1.Pod) bool { return true }

// endDesired tells every pod to end that is meant, is desired and has a worker. The worker
// under the UID of a pod that waits or was refused ends a former incarnation, which has
// nothing to do with the spec of the pod.
func (n *Node) endDesired(meant func(*v1.Pod) bool, graceSeconds *int64) (all []ending) {
	for _, pod := range n.manager.GetPods() {
		if meant(pod) && n.workers.View(pod.UID).Known {
			options := podworkers.UpdatePodOptions{Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: syncloop.NodeShutdown()}}
			if _, waits := n.handlers.Deferred(pod.UID); waits || n.handlers.Refused(pod.UID) {
				options = podworkers.UpdatePodOptions{RunningPod: &runtime.Pod{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}}
			}
			all = append(all, ending{pod.UID, pod.Namespace + "/" + pod.Name, n.workers.Kill(within(options, graceSeconds))})
		}
	}
	return all
}

// endUndesired finds the pods that run and are desired no longer, but for those that are known. They
// have been told to end already; a grace shortens that of pods that only the runtime knows.
func (n *Node) endUndesired(known []ending, graceSeconds *int64) (all []ending) {
	for _, pod := range n.pleg.Pods() {
		_, wanted := n.manager.GetPodByUID(pod.UID)
		wanted = wanted || slices.ContainsFunc(known, func(e ending) bool { return e.uid == pod.UID })
		if !wanted && n.workers.View(pod.UID).IsPodTerminationRequested() {
			all = append(all, ending{pod.UID, pod.Namespace + "/" + pod.Name, n.workers.Kill(within(podworkers.UpdatePodOptions{RunningPod: &pod}, graceSeconds))})
		}
	}
	return all
}

// unlessDrained keeps no ending of a pod that only the drain has ended: it may be desired
// by the next agent.
type unlessDrained struct {
	podsync.TerminalStatuses
	drained *atomic.Bool // Drain was called once
}

// Save implements podsync.TerminalStatuses.
func (e unlessDrained) Save(pod *v1.Pod, status *v1.PodStatus) error {
	if status.Reason == syncloop.ReasonTerminated && e.drained.Load() {
		return nil
	}
	return e.TerminalStatuses.Save(pod, status)
}

// DrainWithin shortens the end of all pods to a grace of so many seconds, at least 1, and
// returns when none runs any more. Besides that it is Drain: it may follow a Drain
// whose context has ended, or one that still waits, which then returns sooner. A pod
// whose own grace is shorter keeps that, and so does one that was deleted before: the
// error names it if ctx ends first.
func (n *Node) DrainWithin(ctx context.Context, graceSeconds int64) error {
	if err := n.shut(ctx); err != nil {
		return err
	}
	return await(ctx, slices.Concat(n.endDesired(every, &graceSeconds), n.endUndesired(nil, &graceSeconds)))
}

// within shortens a kill, if there is a grace.
func within(options podworkers.UpdatePodOptions, graceSeconds *int64) podworkers.UpdatePodOptions {
	if graceSeconds != nil {
		if options.KillPodOptions == nil {
			options.KillPodOptions = &podworkers.KillPodOptions{}
		}
		options.KillPodOptions.PodTerminationGracePeriodSecondsOverride = graceSeconds
	}
	return options
}

// Undrain takes back that a Drain or a Shutdown refuses new pods: they are admitted again. Pods that the
// drain has told to end, or that were rejected because of it, stay so: the host program
// applies others, with UIDs of their own, or deletes them first. A Drain that still waits
// goes on waiting for the pods that it found. Without a Drain it does nothing. It never
// blocks and may be called from anywhere.
func (n *Node) Undrain() {
	n.draining.Store(false)
	n.shutdown.Store(false)
}
