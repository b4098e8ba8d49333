package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// WhenFull says what happens to a new pod that does not fit beside pods that are not terminating.
type WhenFull uint8

// The values of WhenFull.
const (
	// Reject rejects the pod, as the kubelet does.
	Reject WhenFull = iota
	// Wait makes a pod wait if it fits on the empty node and does not come from an API server. The pod is
	// Pending with reason Unschedulable, which its condition PodScheduled has too, and is admitted when it
	// fits. Waiting pods are admitted in the order of spec.priority, the highest first, and with equal
	// priority in the order of arrival. This order also holds for pods that wait for terminating pods.
	//
	// The order is strict. The claims of a waiting pod are reserved. A later pod is admitted only if it fits
	// beside that reservation, however small it is. So a large waiting pod may leave a part of the node
	// unused, but no later pod takes the resources that it waits for. Pods of a low priority may wait forever
	// if pods of a higher priority keep arriving. No pod is preempted.
	//
	// When a pod has terminated, the handlers are called only for the waiting pods that may fit now. Each
	// other waiting pod costs a few comparisons. Recheck makes the loop ask about all of them.
	Wait
)

// reasonFailedScheduling is the scheduler's event reason for a pod that fits on no node.
const reasonFailedScheduling = "FailedScheduling"

// mayWaitWithoutLimit reports whether a pod may wait for admission without a time limit. This holds for each
// pod that does not come from an API server.
func (c *HandlersConfig) mayWaitWithoutLimit(pod *v1.Pod) bool { return !c.FromAPIServer(pod) }

// mayWaitWhenFull reports whether a pod may wait for room although no pod on the node terminates. This holds if
// WhenFull is Wait and the pod does not come from an API server.
func (c *HandlersConfig) mayWaitWhenFull(pod *v1.Pod) bool {
	return c.WhenFull == Wait && c.mayWaitWithoutLimit(pod)
}

// waitRank returns the rank of a pod in the order of the waiting pods, the highest first. It is the pod's
// priority if WhenFull is Wait, and the same for all pods otherwise.
func (c *HandlersConfig) waitRank(pod *v1.Pod) int32 {
	return allocation.Rank(allocation.Priority(pod), c.WhenFull == Wait)
}
