package node

import (
	"cmp"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop"
)

// The errors of Evict.
var (
	// ErrUnknownPod: no pod of that UID is at work here. Perhaps it was never
	// applied, or was refused, or waits for others to end, or has been forgotten.
	ErrUnknownPod = errors.New("node: no such pod is at work")
	// ErrNotEvictable: the pod is one that must not be evicted.
	ErrNotEvictable = errors.New("node: the pod is not evictable")
)

// Eviction says why a pod is to go, and how fast.
type Eviction struct {
	// Reason is one word for the pod's status; empty is "Evicted".
	Reason string
	// Message is a sentence for people.
	Message string
	// GraceSeconds is how long the pod may take to end, if its own grace is not
	// shorter; nil is its own, less than 1 counts as 1. The shortest that was
	// ever asked for counts.
	GraceSeconds *int64
	// Force evicts a pod that Config.Scheduling.Evictable spares.
	Force bool
}

// isEvictable is what is spared unless Config.Scheduling.Evictable says otherwise: static
// pods, which nobody would start anywhere else, and critical ones.
func isEvictable(pod *v1.Pod) bool {
	return !podmanager.IsStaticPod(pod) && (pod.Spec.Priority == nil || *pod.Spec.Priority < SystemCriticalPriority)
}

// Evict ends a pod that the node can not afford any more: it has Failed, with
// the reason of the eviction and the condition DisruptionTarget, and does not run
// again, though it stays desired until it is dropped. One that waits for the end of
// a previous incarnation of its UID, or of others before it can be admitted, never starts. The
// handle is resolved exactly once, when the pod has ended or it is certain that nothing
// of it runs.
//
// Its error is ErrUnknownPod, ErrNotEvictable, or ErrStopped when Run has ended.
//
// It never blocks and may be called from anywhere, again too: a second eviction
// can shorten the grace, but the reason that was published first stands, as does
// that of a pod which ended for another. An event says it once.
//
// A restarted node knows of evictions before it by Config.Pods.TerminalStatuses, or from a
// source that keeps statuses; without either the pod has to be deleted on it.
func (n *Node) Evict(uid types.UID, e Eviction) (*podworkers.Completion, error) {
	if n.done.Opened() {
		return nil, ErrStopped
	}
	pod, ok := n.manager.GetPodByUID(uid)
	view := n.workers.View(uid)
	_, waits := n.handlers.Deferred(uid)
	if !ok || n.handlers.IsRefused(uid) || !view.Known && !waits {
		return nil, fmt.Errorf("%w: %q", ErrUnknownPod, uid)
	}
	if !e.Force && !n.config.Scheduling.Evictable(pod) {
		return nil, fmt.Errorf("%w: %s/%s", ErrNotEvictable, pod.Namespace, pod.Name)
	}
	e.Reason = cmp.Or(e.Reason, reasonEvicted)
	if ended := podworkers.NewCompletion(n.config.Clock); waits && n.handlers.EvictWaiting(uid, e.waitingEviction(ended)) {
		n.reportEviction(pod, e)
		return ended, nil
	}
	if !view.IsPodTerminationRequested() || view.RestartRequested && !view.RestartEvicted {
		n.reportEviction(pod, e)
	}
	n.handlers.AssumeTerminating(uid)
	return n.workers.Kill(podworkers.UpdatePodOptions{
		Pod: pod,
		KillPodOptions: &podworkers.KillPodOptions{
			Evict:                                    true,
			PodStatusFunc:                            podworkers.Fail(e.Reason, e.Message, disruptionCondition(e)),
			PodTerminationGracePeriodSecondsOverride: e.GraceSeconds,
		},
	}), nil
}

// waitingEviction is the eviction of a pod that waits.
func (e Eviction) waitingEviction(completion *podworkers.Completion) syncloop.WaitingEviction {
	return syncloop.WaitingEviction{Reason: e.Reason, Message: e.Message, Condition: disruptionCondition(e), GraceSeconds: e.GraceSeconds, Completion: completion}
}

// reasonEvicted is the reason of an eviction that gives none, and of its event.
const reasonEvicted = "Evicted"

func (n *Node) reportEviction(pod *v1.Pod, e Eviction) {
	n.config.Log.Info("a pod is evicted", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", e.Reason, "message", e.Message)
	if n.config.Recorder != nil {
		n.config.Recorder.Event(pod, v1.EventTypeWarning, reasonEvicted, cmp.Or(e.Message, "The pod is evicted"))
	}
}

// disruptionCondition is by what others see that the pod did not end by itself (EV-4).
func disruptionCondition(e Eviction) v1.PodCondition {
	return v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: e.Message,
	}
}
