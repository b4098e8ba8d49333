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

// Errors of Evict.
var (
	// ErrUnknownPod is returned if no pod with the UID has a worker or waits for admission.
	// Such a pod was never applied, was rejected, or has been forgotten.
	ErrUnknownPod = errors.New("node: no pod with this UID is active")
	// ErrNotEvictable is returned for a pod that Config.Scheduling.Evictable excludes.
	ErrNotEvictable = errors.New("node: the pod is not evictable")
)

// Eviction is the reason of an eviction, and its grace period.
type Eviction struct {
	// Reason is the reason in the status of the pod, one word. Empty is "Evicted".
	Reason string
	// Message is a sentence for people.
	Message string
	// GraceSeconds shortens the grace period of the pod. Nil: the pod has its own grace period. Less
	// than 1 counts as 1. The shortest grace period that any caller has requested counts.
	GraceSeconds *int64
	// Annotations are added to the event if Config.Recorder has the method AnnotatedEventf, as client-go's has.
	Annotations map[string]string
	// OmitCondition omits the condition DisruptionTarget, for a pod that is evicted by its own fault.
	OmitCondition bool
	// Force evicts the pod even if Config.Scheduling.Evictable returns false.
	Force bool
}

// isEvictable is the default of Config.Scheduling.Evictable. It returns false for pods with
// SystemCriticalPriority or more. It also returns false for static pods, because no controller would replace a
// static pod on another node.
func isEvictable(pod *v1.Pod) bool {
	return !podmanager.IsStaticPod(pod) && (pod.Spec.Priority == nil || *pod.Spec.Priority < SystemCriticalPriority)
}

// Evict terminates a pod, for example because the node lacks resources. The pod is Failed with the
// reason of the eviction and the condition DisruptionTarget. It stays desired until it is deleted, but
// it does not run again. A pod that still waits, for admission or for an earlier incarnation of its
// UID, never starts. The returned completion is resolved exactly once, when the pod has terminated or
// certainly has no running containers.
//
// The error is ErrUnknownPod, ErrNotEvictable, or ErrStopped after Run has returned.
//
// Evict never blocks and may be called from any goroutine. A second eviction of a pod can shorten its
// grace period, but the first published reason stays, also if it is not an eviction's. Only the first
// eviction records an event.
//
// After a restart the node knows an eviction from Config.Pods.TerminalStatuses or from the terminal
// status that a source delivers. Without either, delete the pod, or it runs again.
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
		n.logAndRecordEviction(pod, e)
		return ended, nil
	}
	if !view.IsPodTerminationRequested() || view.RestartRequested && !view.RestartEvicted {
		n.logAndRecordEviction(pod, e)
	}
	n.handlers.AssumeTerminating(uid)
	return n.workers.Kill(podworkers.UpdatePodOptions{
		Pod: pod,
		KillPodOptions: &podworkers.KillPodOptions{
			Evict:                                    true,
			PodStatusFunc:                            podworkers.Fail(e.Reason, e.Message, disruptionTargetConditions(e)...),
			PodTerminationGracePeriodSecondsOverride: e.GraceSeconds,
		},
	}), nil
}

// waitingEviction converts the eviction of a pod that waits for admission to the type of package syncloop, with
// the condition DisruptionTarget and the given completion.
func (e Eviction) waitingEviction(completion *podworkers.Completion) syncloop.WaitingEviction {
	return syncloop.WaitingEviction{Reason: e.Reason, Message: e.Message, Condition: disruptionTargetCondition(e), GraceSeconds: e.GraceSeconds, Completion: completion}
}

// reasonEvicted is the default reason of an eviction, and the reason of its event.
const reasonEvicted = "Evicted"

// logAndRecordEviction logs an eviction, and records a warning event for the pod if the Config has a Recorder.
func (n *Node) logAndRecordEviction(pod *v1.Pod, e Eviction) {
	n.config.Log.Info("a pod is evicted", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", e.Reason, "message", e.Message)
	if n.config.Recorder != nil {
		n.recordEvictionEvent(pod, e)
	}
}

// disruptionTargetConditions returns a list with the condition DisruptionTarget. It returns nil if the eviction
// leaves the condition out.
func disruptionTargetConditions(e Eviction) []v1.PodCondition {
	if e.OmitCondition {
		return nil
	}
	return []v1.PodCondition{disruptionTargetCondition(e)}
}

// disruptionTargetCondition returns the condition DisruptionTarget with the message of the eviction. It shows
// controllers that the pod was evicted. (EV-4)
func disruptionTargetCondition(e Eviction) v1.PodCondition {
	return v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: e.Message,
	}
}
