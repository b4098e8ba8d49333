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
	copyFieldsOfOtherWriters(status, &pod.Status)
	keepTerminalPhase(pod, old, status)
	setNotReadyIfTerminal(old, status)
	setTransitionTimes(old, status, now)
	setStartTime(old, status, now)
	normalizeForStorage(pod, status)
}

// keepTerminalPhase copies a terminal phase in old, with its reason and message, to status. A failure thus
// never becomes a success, and no later event becomes the reason. If old has no reason and message, it takes
// the reason and message of the API's status, if that has the same phase (PH-9, PH-10).
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

// setNotReadyIfTerminal makes the conditions ContainersReady and Ready false if the pod is in a terminal phase.
// It does not add these conditions to a status without container statuses, as a rejected pod has, if neither
// the status nor old has them (ST-18).
func setNotReadyIfTerminal(old, status *v1.PodStatus) {
	ready := func(c v1.PodCondition) bool { return c.Type == v1.PodReady || c.Type == v1.ContainersReady }
	said := len(status.ContainerStatuses) > 0 || slices.ContainsFunc(old.Conditions, ready) || slices.ContainsFunc(status.Conditions, ready)
	if said && podstatus.IsTerminal(status.Phase) {
		setCondition(status, podstatus.TerminalCondition(v1.ContainersReady, status.Phase))
		setCondition(status, podstatus.TerminalCondition(v1.PodReady, status.Phase))
	}
}

// setTransitionTimes sets the transition time of each condition that the node writes. A condition with the same
// status in old gets the time in old; a condition about a resize must also have the same reason. Any other
// condition gets the present time. The times in the new status are ignored (ST-5). Only PodResizePending keeps a
// time in the new status, because the decision about the resize sets it (RZ-46).
func setTransitionTimes(old, status *v1.PodStatus, now time.Time) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if !podstatus.IsNodeCondition(c.Type) || c.Type == v1.PodResizePending && !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(now)
		if before := podstatus.FindCondition(old.Conditions, c.Type); before != nil && !podstatus.IsTransition(before, c) {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
}

// setStartTime sets the start time of status to the start time in old. If old has none, it keeps the start time
// of status. If neither has one, it sets now (ST-5).
func setStartTime(old, status *v1.PodStatus, now time.Time) {
	switch {
	case !old.StartTime.IsZero():
		status.StartTime = old.StartTime.DeepCopy()
	case status.StartTime.IsZero():
		status.StartTime = &metav1.Time{Time: now}
	}
}

// setCondition replaces the condition of the same type by c, and keeps the observed generation of the replaced
// condition. If there is no condition of that type, it appends c.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := podstatus.FindCondition(status.Conditions, c.Type); old != nil {
		c.ObservedGeneration = old.ObservedGeneration
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
