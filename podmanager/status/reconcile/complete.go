package reconcile

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Complete turns a status that was made for the pod into the one that follows old, in
// place: fields that others write are those that came with the pod; transition times and the
// start time are kept where nothing has changed, and otherwise now; a terminal phase and
// its reason stay; a pod in a terminal phase is not ready; times are cut to seconds and
// messages to their limits, so that two complete statuses can be compared by Equal. A zero
// old is the status of a pod of which nothing was stored.
func Complete(pod *v1.Pod, old, status *v1.PodStatus, now time.Time) {
	copyForeign(status, &pod.Status)
	keepEnd(pod, old, status)
	endReadiness(old, status)
	keepTransitionTimes(old, status, now)
	keepStartTime(old, status, now)
	normalize(pod, status)
}

// keepEnd lets a terminal phase stand for ever, with the reason that was said
// first: what was an end is not taken back, no failure turns into a success, and
// nothing that comes after an end is a reason of it. The API's reason fills in
// where none was said. [PH-9, PH-10]
func keepEnd(pod *v1.Pod, old, status *v1.PodStatus) {
	if !podstatus.IsTerminal(old.Phase) {
		return
	}
	from := old
	if api := &pod.Status; old.Reason == "" && old.Message == "" && api.Phase == old.Phase {
		from = api
	}
	status.Phase, status.Reason, status.Message = old.Phase, from.Reason, from.Message
}

// endReadiness makes sure that a pod that is over is not ready. A pod of whose readiness
// and containers nothing was said, as one that was refused, gets no conditions. [ST-18]
func endReadiness(old, status *v1.PodStatus) {
	ready := func(c v1.PodCondition) bool { return c.Type == v1.PodReady || c.Type == v1.ContainersReady }
	said := len(status.ContainerStatuses) > 0 || slices.ContainsFunc(old.Conditions, ready) || slices.ContainsFunc(status.Conditions, ready)
	if said && podstatus.IsTerminal(status.Phase) {
		setCondition(status, podstatus.TerminalCondition(v1.ContainersReady, status.Phase))
		setCondition(status, podstatus.TerminalCondition(v1.PodReady, status.Phase))
	}
}

// keepTransitionTimes gives each condition of ours the time at which it took
// the value that it has. The times that it came with do not count. [ST-5]
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

// keepStartTime lets the first start time stand for ever. [ST-5]
func keepStartTime(old, status *v1.PodStatus, now time.Time) {
	switch {
	case !old.StartTime.IsZero():
		status.StartTime = old.StartTime.DeepCopy()
	case status.StartTime.IsZero():
		status.StartTime = &metav1.Time{Time: now}
	}
}

// setCondition puts c in the place of the condition of its type, and lets it
// keep the generation of the pod that was looked at.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := podstatus.FindCondition(status.Conditions, c.Type); old != nil {
		c.ObservedGeneration = old.ObservedGeneration
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
