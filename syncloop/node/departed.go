package node

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

// listUndesiredPods are copies of the pods that are not desired any more and whose containers
// have not stopped, with their newest status and a deletion timestamp, as an API
// server would show them. Pods that only the runtime knows come after those that
// have a worker. A pod of desired, or one that has come since that was read, is none.
func (v *podsView) listUndesiredPods(desired []*v1.Pod) (pods []*v1.Pod) {
	listed := make(map[types.UID]bool, len(desired))
	for _, pod := range desired {
		listed[pod.UID] = true
	}
	isDesired := func(uid types.UID) bool {
		_, now := v.manager.GetPodByUID(uid)
		return now || listed[uid]
	}
	terminating := v.handlers.TerminatingPods()
	until := make(map[types.UID]time.Time, len(terminating))
	for _, e := range terminating {
		until[e.Pod.UID] = e.Until
	}
	for _, pod := range v.history.lastPods() {
		if isDesired(pod.UID) {
			continue
		}
		if pod, ok := v.terminatingPod(pod, until[pod.UID]); ok {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(startTime(a).Compare(startTime(b)), cmp.Compare(a.UID, b.UID))
	})
	for _, e := range terminating {
		if e.RuntimeOnly && !isDesired(e.Pod.UID) {
			pods = append(pods, v.orphanedPod(e))
		}
	}
	return pods
}

// terminatingPod is a copy of a pod that is not desired any more, and that is to have ended at a
// time, or, if that is not known, has just left the configuration. It is not ok if nothing of the pod runs.
func (v *podsView) terminatingPod(pod *v1.Pod, until time.Time) (*v1.Pod, bool) {
	view := v.workers.View(pod.UID)
	if !view.Started || !view.HasConfig || view.IsPodKnownTerminated() {
		return nil, false
	}
	return setDeletionTimestamp(v.podWithStatus(pod), v.timeOrNow(until), view.Grace), true
}

// timeOrNow is a time, or, if it is not known, the present.
func (v *podsView) timeOrNow(at time.Time) time.Time {
	if at.IsZero() {
		return v.executor.Now()
	}
	return at
}

// orphanedPod is a pod that a former agent has left behind, and that no source has named.
func (v *podsView) orphanedPod(e syncloop.TerminatingPod) *v1.Pod {
	pod := e.Pod.DeepCopy()
	if view := v.workers.View(pod.UID); view.Known {
		return setDeletionTimestamp(pod, e.Until, view.Grace)
	}
	pod.Status.Reason = syncloop.ReasonNotDesired
	pod.Status.Message = "no source has named the pod yet"
	if !e.KillAt.IsZero() {
		pod.Status.Message += "; it is ended at " + e.KillAt.UTC().Format(time.RFC3339) + " unless one does"
	}
	return pod
}

// startTime is when the node has taken a pod up.
func startTime(pod *v1.Pod) time.Time {
	if pod.Status.StartTime == nil {
		return time.Time{}
	}
	return pod.Status.StartTime.Time
}

// setDeletionTimestamp gives a pod what an API server gives one that is being deleted.
func setDeletionTimestamp(pod *v1.Pod, at time.Time, grace lifecycle.Grace) *v1.Pod {
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &metav1.Time{Time: at}
	}
	if grace.Set && pod.DeletionGracePeriodSeconds == nil {
		pod.DeletionGracePeriodSeconds = &grace.Seconds
	}
	return pod
}
