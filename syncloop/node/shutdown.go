package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// SystemCriticalPriority is the least priority of pods that a cluster cannot do without: that of
// the class system-cluster-critical.
const SystemCriticalPriority int32 = 2_000_000_000

// ShutdownGroup is how long pods of one range of priorities have to end, as
// shutdownGracePeriodByPodPriority of a KubeletConfiguration says it.
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

// Shutdown is Drain in the order of priorities, for a machine that goes down: all pods of the lowest
// group are told to end, with their own grace but at most the group's Period. When none of them runs
// any more, or the group's time is over, the next group follows. Pods that are desired no longer keep
// their grace: those that still end are in the lowest group, and those that are deleted meanwhile in
// the next one. It returns when the last group has ended, or its time is over. The error names the
// pods that still run; they go on ending. If ctx ends first, no further group is told.
//
// From its call on ShuttingDown reports true and new pods are refused, until Undrain, which does not
// end the Shutdown. Another call begins with the lowest group again. Without groups it fails and
// changes nothing. A pod's priority is its spec.priority: the name of a class alone counts for
// nothing, as for a kubelet, since an API server resolves it. An agent that is only restarted does not call it.
func (n *Node) Shutdown(ctx context.Context, groups ...ShutdownGroup) error {
	if len(groups) == 0 {
		return errors.New("node: Shutdown needs a group")
	}
	n.shutdown.Store(true)
	if err := n.shut(ctx); err != nil {
		n.shutdown.Store(!errors.Is(err, ErrNotRunning) && !errors.Is(err, ErrStopped))
		return err
	}
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b ShutdownGroup) int { return cmp.Compare(a.Priority, b.Priority) })
	var all []ending
	for i, group := range groups {
		told := n.endGroup(groups, i, all)
		all = append(all, told...)
		_ = n.awaitFor(ctx, group.Period+ShutdownMargin, told) // The last wait tells which pods have not ended.
		if ctx.Err() != nil {
			break
		}
	}
	return n.awaitFor(ctx, 0, all)
}

// ShuttingDown reports whether Shutdown was called, and not Undrain since.
func (n *Node) ShuttingDown() bool { return n.shutdown.Load() }

// endGroup tells the pods of a group to end. Of pods that are desired no longer the priority is not
// known: those that were not told before are in this group.
func (n *Node) endGroup(groups []ShutdownGroup, i int, told []ending) []ending {
	grace := max(1, int64(groups[i].Period/time.Second))
	return slices.Concat(n.endDesired(func(pod *v1.Pod) bool { return groupOf(groups, allocation.Priority(pod)) == i }, &grace), n.endUndesired(told, &grace))
}

// groupOf is the place of the group that a priority belongs to. The groups are in order.
func groupOf(groups []ShutdownGroup, priority int32) int {
	at, exact := slices.BinarySearchFunc(groups, priority, func(g ShutdownGroup, p int32) int { return cmp.Compare(g.Priority, p) })
	if exact {
		return at
	}
	return max(0, at-1)
}

// awaitFor waits until all have ended, for a time.
func (n *Node) awaitFor(ctx context.Context, period time.Duration, all []ending) error {
	ctx, cancel := n.executor.WithDeadline(ctx, n.executor.Now().Add(period))
	defer cancel()
	return await(ctx, all)
}
