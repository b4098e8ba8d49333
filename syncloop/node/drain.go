package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// DrainOptions configure how Drain terminates the pods. The zero value terminates all pods at the same
// time, each within its own grace period.
type DrainOptions struct {
	// GraceSeconds shortens the grace period of every pod, to at least 1. A pod whose own grace period
	// is shorter keeps it. A pod that was deleted before keeps its grace period too. Nil: each pod has its own grace
	// period.
	GraceSeconds *int64
	// Groups terminate the pods in the order of their priorities, for a machine that shuts down. Drain
	// first terminates all pods of the lowest group, with at most the group's Period as their grace
	// period. It terminates the next group when no pod of the group runs any longer, or when the
	// group's time is over. ShutdownGroups returns the groups of a kubelet. From the call of Drain
	// until Undrain Health reports ShuttingDown. Set no groups if only the agent restarts.
	//
	// The priority of a pod is its spec.priority, which an API server sets from the priority class. A
	// pod that is no longer desired keeps its grace period. It belongs to the lowest group, or, if it
	// was deleted during the call, to the next group.
	Groups []ShutdownGroup
}

// SystemCriticalPriority is the lowest priority of critical pods: the priority of class
// system-cluster-critical.
const SystemCriticalPriority int32 = 2_000_000_000

// ShutdownGroup is the grace period of the pods in one range of priorities, as in
// shutdownGracePeriodByPodPriority of a KubeletConfiguration.
type ShutdownGroup struct {
	// Priority is the lowest priority of the group. The range ends below the Priority of the next
	// group. Pods with a lower priority than all groups belong to the lowest group.
	Priority int32
	// Period limits the grace period of the group's pods, in whole seconds of at least one. The next
	// group waits for at most Period and ShutdownMargin.
	Period time.Duration
}

// ShutdownMargin is added to the Period of a group before the next group begins: a container that is
// killed at the end of its grace period exits a moment later. A kubelet does not add it, and such a pod
// stays Running at the API server.
const ShutdownMargin = time.Second

// ShutdownGroups returns the groups that a kubelet makes of two settings: total is shutdownGracePeriod,
// and critical is shutdownGracePeriodCriticalPods, the part of total for pods with
// SystemCriticalPriority or more.
func ShutdownGroups(total, critical time.Duration) []ShutdownGroup {
	return []ShutdownGroup{{0, total - critical}, {SystemCriticalPriority, critical}}
}

// Drain terminates all pods of the node, including pods that were deleted before, and returns when none
// of them runs. From then on the node rejects new pods with reason NodeShutdown, until Undrain. The
// pods are Failed with reason Terminated and the condition DisruptionTarget, unless they terminated
// before the call.
//
// Drain needs a running node and does not stop it: end Run's context afterwards. Before Run it returns
// ErrNotRunning, after Run ErrStopped, and changes nothing. If ctx ends or the time of the last group
// is over, the error names the pods that are still terminating. Those pods continue to terminate, and
// no further group begins.
//
// Another Drain may be called, also while an earlier call waits: to wait longer, or to shorten the
// grace periods, so that the earlier call returns sooner too. A call with groups begins with the lowest
// group. Drain is safe for concurrent use.
func (n *Node) Drain(ctx context.Context, options DrainOptions) error {
	return n.drainer.drain(ctx, options)
}

// Undrain makes the node admit new pods again after a Drain. Pods that Drain has terminated or rejected
// stay so. The host program can delete them, or apply new ones with new UIDs. A Drain that still waits
// continues to wait for its pods. Without an earlier Drain Undrain does nothing. It never blocks and
// may be called from any goroutine.
func (n *Node) Undrain() { n.drainer.undrain() }

// drainer terminates all pods of a node.
type drainer struct {
	executor executor.Executor
	manager  *podmanager.Store
	workers  *podworkers.Workers
	handlers *syncloop.Handlers
	pleg     *pleg.PLEG
	loop     *syncloop.Loop
	running  *atomic.Bool // Run was called
	done     executor.Latch

	draining atomic.Bool // the node rejects new pods
	drained  atomic.Bool // drain was called once
	shutdown atomic.Bool // drain was called with groups
}

// undrain makes the node admit new pods again, and makes Health no longer report a shutdown.
func (d *drainer) undrain() {
	d.draining.Store(false)
	d.shutdown.Store(false)
}

// drain makes the node reject new pods, terminates all pods and waits until they have terminated. With groups
// it terminates one group after another, from the lowest priority to the highest, and waits for each at most
// the group's period and ShutdownMargin. The error names the pods that have not terminated.
func (d *drainer) drain(ctx context.Context, options DrainOptions) error {
	groups := slices.SortedStableFunc(slices.Values(options.Groups), func(a, b ShutdownGroup) int { return cmp.Compare(a.Priority, b.Priority) })
	if len(groups) > 0 {
		d.shutdown.Store(true)
	}
	if err := d.rejectNewPodsAndFlush(ctx); err != nil {
		if errors.Is(err, ErrNotRunning) || errors.Is(err, ErrStopped) {
			d.shutdown.Store(false)
		}
		return err
	}
	grace := lifecycle.GraceFromAPI(options.GraceSeconds)
	if len(groups) == 0 {
		all := func(*v1.Pod) bool { return true }
		return waitForPods(ctx, slices.Concat(d.killDesiredPods(all, grace), d.killUndesiredTerminatingPods(nil, grace)))
	}
	var killed []killedPod
	for i, group := range groups {
		pods := d.killGroup(groups, i, killed, grace)
		killed = append(killed, pods...)
		_ = d.waitForPodsWithin(ctx, group.Period+ShutdownMargin, pods) // The last wait reports which pods have not terminated.
		if ctx.Err() != nil {
			break
		}
	}
	return d.waitForPodsWithin(ctx, 0, killed)
}

// rejectNewPodsAndFlush makes the node reject new pods, and waits until the loop has handled the pods that were
// delivered before. Before Run it returns ErrNotRunning, after Run ErrStopped, and changes nothing. If ctx ends
// during the wait it returns an error, and the node still rejects new pods.
func (d *drainer) rejectNewPodsAndFlush(ctx context.Context) error {
	switch {
	case !d.running.Load():
		return ErrNotRunning
	case d.done.Opened():
		return ErrStopped
	}
	d.drained.Store(true)
	d.draining.Store(true)
	if err := d.loop.Flush(ctx); err != nil && !errors.Is(err, syncloop.ErrStopped) {
		return err
	}
	return nil
}

// killedPod is a pod whose termination was requested.
type killedPod struct {
	uid  types.UID
	name string
	done *podworkers.Completion
}

// killDesiredPods requests the termination of every selected desired pod that has a worker, and returns these
// pods. If the pod waits for admission or was rejected, its worker belongs to an earlier pod with the same UID,
// so the request does not carry the pod's spec.
func (d *drainer) killDesiredPods(selected func(*v1.Pod) bool, grace lifecycle.Grace) (killed []killedPod) {
	for _, pod := range d.manager.GetPods() {
		if selected(pod) && d.workers.View(pod.UID).Known {
			options := podworkers.UpdatePodOptions{Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: syncloop.NodeShutdown()}}
			if _, waits := d.handlers.Deferred(pod.UID); waits || d.handlers.IsRefused(pod.UID) {
				options = podworkers.UpdatePodOptions{RunningPod: &runtime.Pod{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}}
			}
			killed = append(killed, killedPod{pod.UID, pod.Namespace + "/" + pod.Name, d.workers.Kill(withGracePeriod(options, grace))})
		}
	}
	return killed
}

// killUndesiredTerminatingPods calls Kill for each terminating pod that is no longer desired, except those in
// alreadyKilled, and returns these pods. Their termination was requested before, so the call can only shorten
// their grace period.
func (d *drainer) killUndesiredTerminatingPods(alreadyKilled []killedPod, grace lifecycle.Grace) (killed []killedPod) {
	for _, pod := range d.pleg.Pods() {
		_, wanted := d.manager.GetPodByUID(pod.UID)
		wanted = wanted || slices.ContainsFunc(alreadyKilled, func(e killedPod) bool { return e.uid == pod.UID })
		if !wanted && d.workers.View(pod.UID).IsPodTerminationRequested() {
			killed = append(killed, killedPod{pod.UID, pod.Namespace + "/" + pod.Name, d.workers.Kill(withGracePeriod(podworkers.UpdatePodOptions{RunningPod: &pod}, grace))})
		}
	}
	return killed
}

// withGracePeriod returns the options with this grace period, and changes an existing KillPodOptions in place.
// If grace is not set, it returns the options unchanged.
func withGracePeriod(options podworkers.UpdatePodOptions, grace lifecycle.Grace) podworkers.UpdatePodOptions {
	if grace.Set {
		if options.KillPodOptions == nil {
			options.KillPodOptions = &podworkers.KillPodOptions{}
		}
		options.KillPodOptions.PodTerminationGracePeriodSecondsOverride = grace.ToAPI()
	}
	return options
}

// killGroup requests the termination of the pods whose priority belongs to group i, and returns them. Their
// grace period is the group's period or grace, whichever is shorter. The priority of undesired pods is unknown,
// so it also kills all terminating undesired pods that are not in killed.
func (d *drainer) killGroup(groups []ShutdownGroup, i int, killed []killedPod, grace lifecycle.Grace) []killedPod {
	grace = grace.Min(lifecycle.Seconds(int64(groups[i].Period / time.Second)))
	inGroup := func(pod *v1.Pod) bool { return shutdownGroupIndex(groups, allocation.Priority(pod)) == i }
	return slices.Concat(d.killDesiredPods(inGroup, grace), d.killUndesiredTerminatingPods(killed, grace))
}

// shutdownGroupIndex returns the index of the last group whose Priority is not above the given priority. It
// returns 0 if every group has a higher Priority. The groups must be sorted by Priority.
func shutdownGroupIndex(groups []ShutdownGroup, priority int32) int {
	at, exact := slices.BinarySearchFunc(groups, priority, func(g ShutdownGroup, p int32) int { return cmp.Compare(g.Priority, p) })
	if exact {
		return at
	}
	return max(0, at-1)
}

// waitForPodsWithin waits until all pods have terminated, the period is over or ctx ends. The error names the
// pods that have not terminated.
func (d *drainer) waitForPodsWithin(ctx context.Context, period time.Duration, killed []killedPod) error {
	ctx, cancel := d.executor.WithDeadline(ctx, d.executor.Now().Add(period))
	defer cancel()
	return waitForPods(ctx, killed)
}

// undrainedStatuses does not save the terminal status of a pod that Drain has terminated, because the
// next agent may run the pod again.
type undrainedStatuses struct {
	podsync.TerminalStatuses
	drained *atomic.Bool // Drain was called once
}

// Save implements podsync.TerminalStatuses. It does not save the status of a pod that terminated because of a
// Drain.
func (e undrainedStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	if status.Reason == syncloop.ReasonTerminated && e.drained.Load() {
		return nil
	}
	return e.TerminalStatuses.Save(pod, status)
}

// waitForPods waits until all pods have terminated, or until ctx ends. The error names the pods that have not
// terminated.
func waitForPods(ctx context.Context, killed []killedPod) error {
	var errs []error
	for _, e := range killed {
		if err := e.done.Wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("node: pod %s has not terminated: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}
