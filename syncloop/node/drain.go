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
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// DrainOptions say how Drain terminates the pods. With the zero value all pods terminate at the same
// time, each within its own grace period.
type DrainOptions struct {
	// GraceSeconds shortens the grace period of every pod, to at least 1. A pod whose own grace period
	// is shorter keeps it, and so does a pod that was deleted before. Nil: each pod has its own.
	GraceSeconds *int64
	// Groups terminate the pods in the order of their priorities, for a machine that shuts down: first
	// all pods of the lowest group, with at most the group's Period as their grace period, and the next
	// group when none of them runs any more or when the group's time is over. ShutdownGroups makes those
	// of a kubelet. From the call on Health reports ShuttingDown, until Undrain. An agent that is only
	// restarted gives no groups.
	//
	// A pod's priority is its spec.priority; an API server resolves the name of a class. A pod
	// that is no longer desired keeps its grace period. It belongs to the lowest group, or, if it was
	// deleted during the call, to the next one.
	Groups []ShutdownGroup
}

// SystemCriticalPriority is the least priority of pods that a cluster cannot do without: that of
// the class system-cluster-critical.
const SystemCriticalPriority int32 = 2_000_000_000

// ShutdownGroup is how long the pods of one range of priorities have to terminate, as in
// shutdownGracePeriodByPodPriority of a KubeletConfiguration.
type ShutdownGroup struct {
	// Priority is the lowest of the group: its pods have this one or more, up to the next group.
	// Pods with less than all groups belong to the lowest one.
	Priority int32
	// Period bounds the grace of the group's pods, in whole seconds of at least one, and with
	// ShutdownMargin how long the next group waits for them.
	Period time.Duration
}

// ShutdownMargin is how much longer than its Period a group may take: a container that is killed when its
// grace is over has ended a moment later. A kubelet does not wait for that, and such a pod stays
// Running at the API server.
const ShutdownMargin = time.Second

// ShutdownGroups are the groups that a kubelet makes of its settings shutdownGracePeriod, which is
// the total, and shutdownGracePeriodCriticalPods, which is the part of it for pods of
// SystemCriticalPriority and more.
func ShutdownGroups(total, critical time.Duration) []ShutdownGroup {
	return []ShutdownGroup{{0, total - critical}, {SystemCriticalPriority, critical}}
}

// Drain terminates all pods of the node as the options say, those that were deleted before included,
// and returns when none runs any more. From then on the node rejects new pods with reason NodeShutdown,
// until Undrain. The pods have Failed then, with reason Terminated and the condition DisruptionTarget,
// unless they had ended before.
//
// It needs a running node, and leaves the node running: end Run's context afterwards. Before Run it
// returns ErrNotRunning, and after it ErrStopped, and changes nothing. If ctx ends first, or the time of
// the last group is over, the error names the pods that are still terminating. They go on terminating;
// no further group begins.
//
// It may be called again, also while an earlier call waits: to wait longer, or with a shorter grace
// period, so that the earlier call returns sooner too. A call with groups begins with the lowest group.
// It is safe for concurrent use.
func (n *Node) Drain(ctx context.Context, options DrainOptions) error {
	return n.drainer.drain(ctx, options)
}

// Undrain takes back that Drain rejects new pods: they are admitted again. Pods that the drain
// terminates, or that were rejected because of it, stay so: the host program applies others, with UIDs
// of their own, or deletes them first. A Drain that still waits goes on waiting for the pods that it
// found. Without a Drain it does nothing. It never blocks and may be called from anywhere.
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

func (d *drainer) undrain() {
	d.draining.Store(false)
	d.shutdown.Store(false)
}

func (d *drainer) drain(ctx context.Context, options DrainOptions) error {
	groups := slices.SortedStableFunc(slices.Values(options.Groups), func(a, b ShutdownGroup) int { return cmp.Compare(a.Priority, b.Priority) })
	if len(groups) > 0 {
		d.shutdown.Store(true)
	}
	if err := d.rejectNewPods(ctx); err != nil {
		if errors.Is(err, ErrNotRunning) || errors.Is(err, ErrStopped) {
			d.shutdown.Store(false)
		}
		return err
	}
	if len(groups) == 0 {
		all := func(*v1.Pod) bool { return true }
		return waitForPods(ctx, slices.Concat(d.killDesiredPods(all, options.GraceSeconds), d.killUndesiredPods(nil, options.GraceSeconds)))
	}
	var killed []killedPod
	for i, group := range groups {
		pods := d.killGroup(groups, i, killed, options.GraceSeconds)
		killed = append(killed, pods...)
		_ = d.waitForPodsWithin(ctx, group.Period+ShutdownMargin, pods) // The last wait tells which pods have not ended.
		if ctx.Err() != nil {
			break
		}
	}
	return d.waitForPodsWithin(ctx, 0, killed)
}

// rejectNewPods makes the node reject new pods and waits until the loop has finished its present step: a
// pod that was admitted in that step has its worker then. Before Run, and after it, rejectNewPods returns
// an error and changes nothing.
func (d *drainer) rejectNewPods(ctx context.Context) error {
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

// killDesiredPods requests the termination of every desired pod that is selected and has a worker. The
// worker under the UID of a pod that waits or was rejected terminates an earlier incarnation, which
// does not have the spec of the pod.
func (d *drainer) killDesiredPods(selected func(*v1.Pod) bool, graceSeconds *int64) (all []killedPod) {
	for _, pod := range d.manager.GetPods() {
		if selected(pod) && d.workers.View(pod.UID).Known {
			options := podworkers.UpdatePodOptions{Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: syncloop.NodeShutdown()}}
			if _, waits := d.handlers.Deferred(pod.UID); waits || d.handlers.IsRefused(pod.UID) {
				options = podworkers.UpdatePodOptions{RunningPod: &runtime.Pod{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}}
			}
			all = append(all, killedPod{pod.UID, pod.Namespace + "/" + pod.Name, d.workers.Kill(withGracePeriod(options, graceSeconds))})
		}
	}
	return all
}

// killUndesiredPods returns the pods that run and are no longer desired, except the killed ones. Their
// termination was requested before; a grace period shortens that of pods that only the runtime knows.
func (d *drainer) killUndesiredPods(killed []killedPod, graceSeconds *int64) (all []killedPod) {
	for _, pod := range d.pleg.Pods() {
		_, wanted := d.manager.GetPodByUID(pod.UID)
		wanted = wanted || slices.ContainsFunc(killed, func(e killedPod) bool { return e.uid == pod.UID })
		if !wanted && d.workers.View(pod.UID).IsPodTerminationRequested() {
			all = append(all, killedPod{pod.UID, pod.Namespace + "/" + pod.Name, d.workers.Kill(withGracePeriod(podworkers.UpdatePodOptions{RunningPod: &pod}, graceSeconds))})
		}
	}
	return all
}

// withGracePeriod shortens the grace period of a kill if graceSeconds is not nil.
func withGracePeriod(options podworkers.UpdatePodOptions, graceSeconds *int64) podworkers.UpdatePodOptions {
	if graceSeconds != nil {
		if options.KillPodOptions == nil {
			options.KillPodOptions = &podworkers.KillPodOptions{}
		}
		options.KillPodOptions.PodTerminationGracePeriodSecondsOverride = graceSeconds
	}
	return options
}

// killGroup requests the termination of the pods of a group. The priority of pods that are no longer
// desired is not known: those that were not killed before belong to this group.
func (d *drainer) killGroup(groups []ShutdownGroup, i int, killed []killedPod, graceSeconds *int64) []killedPod {
	grace := max(1, int64(groups[i].Period/time.Second))
	if graceSeconds != nil {
		grace = min(grace, *graceSeconds)
	}
	inGroup := func(pod *v1.Pod) bool { return groupIndex(groups, allocation.Priority(pod)) == i }
	return slices.Concat(d.killDesiredPods(inGroup, &grace), d.killUndesiredPods(killed, &grace))
}

// groupIndex returns the index of the group to which a priority belongs. The groups are sorted.
func groupIndex(groups []ShutdownGroup, priority int32) int {
	at, exact := slices.BinarySearchFunc(groups, priority, func(g ShutdownGroup, p int32) int { return cmp.Compare(g.Priority, p) })
	if exact {
		return at
	}
	return max(0, at-1)
}

// waitForPodsWithin waits until all pods have terminated, for at most a period.
func (d *drainer) waitForPodsWithin(ctx context.Context, period time.Duration, all []killedPod) error {
	ctx, cancel := d.executor.WithDeadline(ctx, d.executor.Now().Add(period))
	defer cancel()
	return waitForPods(ctx, all)
}

// undrainedStatuses does not save the terminal status of a pod that Drain has terminated: the next agent may run
// the pod again.
type undrainedStatuses struct {
	podsync.TerminalStatuses
	drained *atomic.Bool // Drain was called once
}

// Save implements podsync.TerminalStatuses.
func (e undrainedStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	if status.Reason == syncloop.ReasonTerminated && e.drained.Load() {
		return nil
	}
	return e.TerminalStatuses.Save(pod, status)
}

// waitForPods waits until all pods have terminated.
func waitForPods(ctx context.Context, all []killedPod) error {
	var errs []error
	for _, e := range all {
		if err := e.done.Wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("node: pod %s has not ended: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}
