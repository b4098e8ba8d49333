package reconcile

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Complete changes a new status of the pod in place so that it follows old. It keeps the fields of
// other writers, unchanged transition times, the start time, and a terminal phase with its reason.
// It sets the transition time of each other condition that the node writes, and a missing start time,
// to now. A pod in a terminal phase becomes not ready. Times are truncated
// to seconds and messages to their limits, so that Equal can compare two complete statuses. A zero
// old means that no status is stored.
func Complete(pod *v1.Pod, old, status *v1.PodStatus, now time.Time) {
	copyForeignFieldsDeep(status, &pod.Status)
	keepTerminalPhase(pod, old, status)
	setTerminalNotReady(old, status)
	keepTransitionTimes(old, status, now)
	keepStartTime(old, status, now)
	normalize(pod, status)
}

// keepTerminalPhase keeps a terminal phase with its first reason: a failure never becomes a
// success, and no later event is the reason. If the stored status has no reason, the one in the
// API's status is used (PH-9, PH-10).
func keepTerminalPhase(pod *v1.Pod, old, status *v1.PodStatus) {
	if !podstatus.IsTerminal(old.Phase) {
		return
	}
	from := old
	if api := &pod.Status; old.Reason == "" && old.Message == "" && api.Phase == old.Phase {
		from = api
	}
	status.Phase, status.Reason, status.Message = old.Phase, from.Reason, from.Message
}

// setTerminalNotReady makes a pod in a terminal phase not ready. A status without containers and
// readiness, as of a rejected pod, gets no conditions (ST-18).
func setTerminalNotReady(old, status *v1.PodStatus) {
	ready := func(c v1.PodCondition) bool { return c.Type == v1.PodReady || c.Type == v1.ContainersReady }
	said := len(status.ContainerStatuses) > 0 || slices.ContainsFunc(old.Conditions, ready) || slices.ContainsFunc(status.Conditions, ready)
	if said && podstatus.IsTerminal(status.Phase) {
		setCondition(status, podstatus.TerminalCondition(v1.ContainersReady, status.Phase))
		setCondition(status, podstatus.TerminalCondition(v1.PodReady, status.Phase))
	}
}

// keepTransitionTimes sets the transition time of each condition that the node writes: the old time
// if the condition has the same status, and otherwise now. The times in the new status do not count
// (ST-5).
func keepTransitionTimes(old, status *v1.PodStatus, now time.Time) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if !podstatus.IsNodeCondition(c.Type) {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(now)
		if before := podstatus.FindCondition(old.Conditions, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
}

// keepStartTime keeps the first start time (ST-5).
func keepStartTime(old, status *v1.PodStatus, now time.Time) {
	switch {
	case !old.StartTime.IsZero():
		status.StartTime = old.StartTime.DeepCopy()
	case status.StartTime.IsZero():
		status.StartTime = &metav1.Time{Time: now}
	}
}

// setCondition replaces the condition of the same type, or appends one. It keeps the observed
// generation.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := podstatus.FindCondition(status.Conditions, c.Type); old != nil {
		c.ObservedGeneration = old.ObservedGeneration
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
