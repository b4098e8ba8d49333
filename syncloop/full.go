package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// WhenFull says what becomes of a new pod that does not fit beside the pods that the node
// has, and that are not about to end.
type WhenFull uint8

// The ways.
const (
	// Reject: the pod is rejected, as the kubelet does.
	Reject WhenFull = iota
	// Wait: a pod that is not an API server's waits, if it would fit on the empty node. It is Pending with
	// reason Unschedulable, which its condition PodScheduled has too, and is admitted as soon as it fits.
	// Pods that wait are admitted in the order of spec.priority, the highest first, those of one priority
	// in the order of arrival; this order holds for pods that wait for terminating pods too.
	//
	// The order is strict: what a pod that waits needs is reserved, and a pod after it is
	// admitted only if it fits beside that reservation, however small it is and however long
	// the first one waits. So a large pod may leave a part of the node unused, but it is never
	// overtaken on what it needs. Pods of a low priority wait for as long as others of a
	// higher one keep coming. No pod is preempted.
	//
	// When a pod has ended, the handlers are asked only about those pods that may fit now: it
	// takes a few comparisons for each of the others. Recheck has all of them asked about.
	Wait
)

// reasonFailedScheduling is the scheduler's reason of an event about a pod that is placed on
// no node.
const reasonFailedScheduling = "FailedScheduling"

// waitsWithoutLimit: the pod waits for as long as it takes.
func (c *HandlersConfig) waitsWithoutLimit(pod *v1.Pod) bool { return !c.FromAPIServer(pod) }

// waitsWhenFull: the pod waits also for pods that need not end.
func (c *HandlersConfig) waitsWhenFull(pod *v1.Pod) bool {
	return c.WhenFull == Wait && c.waitsWithoutLimit(pod)
}

// waitRank is the place of the pod among those that wait: the highest is first.
func (c *HandlersConfig) waitRank(pod *v1.Pod) int32 {
	return allocation.Rank(allocation.Priority(pod), c.WhenFull == Wait)
}
