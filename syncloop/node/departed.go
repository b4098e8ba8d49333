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

// listTerminatingUndesiredPods returns copies of the pods that are no longer desired and whose containers have
// not stopped; pods that only the runtime has come last. A terminating pod has a deletion timestamp. It skips
// the pods in desired, and pods that have become desired after the caller read that list.
func (v *podsView) listTerminatingUndesiredPods(desired []*v1.Pod) (pods []*v1.Pod) {
	listed := make(map[types.UID]bool, len(desired))
	for _, pod := range desired {
		listed[pod.UID] = true
	}
	isDesired := func(uid types.UID) bool {
		_, now := v.manager.GetPodByUID(uid)
		return now || listed[uid]
	}
	terminating := v.handlers.TerminatingPods()
	ofWorkers := make(map[types.UID]syncloop.TerminatingPod, len(terminating))
	for _, e := range terminating {
		ofWorkers[e.Pod.UID] = e
	}
	for _, pod := range v.history.lastPods() {
		if isDesired(pod.UID) {
			continue
		}
		e, ok := ofWorkers[pod.UID]
		if ok && !e.RuntimeOnly {
			pod = e.Pod // An update may have come after the last status.
		}
		if pod, ok := v.terminatingPodWithStatus(pod, e.Until); ok {
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

// terminatingPodWithStatus returns a copy of an undesired pod with its newest status and with until, or the
// present time if that is zero, as its deletion timestamp. It returns false if the pod's worker has no spec,
// has started nothing, or has terminated the pod.
func (v *podsView) terminatingPodWithStatus(pod *v1.Pod, until time.Time) (_ *v1.Pod, terminating bool) {
	view := v.workers.View(pod.UID)
	if !view.Started || !view.HasConfig || view.IsPodKnownTerminated() {
		return nil, false
	}
	return setDeletionFieldsInPlaceIfUnset(v.podWithStatus(pod), v.timeOrNow(until), view.Grace), true
}

// timeOrNow returns the given time, or the present time if the given one is zero.
func (v *podsView) timeOrNow(at time.Time) time.Time {
	if at.IsZero() {
		return v.executor.Now()
	}
	return at
}

// orphanedPod returns a copy of a pod that runs since an earlier process and that no source has delivered. If a
// worker terminates the pod, the copy has a deletion timestamp. If none does, its status has the reason
// NotDesired and says when the pod is terminated.
func (v *podsView) orphanedPod(e syncloop.TerminatingPod) *v1.Pod {
	pod := e.Pod.DeepCopy()
	if view := v.workers.View(pod.UID); view.Known {
		return setDeletionFieldsInPlaceIfUnset(pod, e.Until, view.Grace)
	}
	pod.Status.Reason = syncloop.ReasonNotDesired
	pod.Status.Message = "no source has delivered the pod yet"
	if !e.KillAt.IsZero() {
		pod.Status.Message += "; it is terminated at " + e.KillAt.UTC().Format(time.RFC3339) + " unless one does"
	}
	return pod
}

// startTime returns status.startTime of a pod, or the zero time if it is not set.
func startTime(pod *v1.Pod) time.Time {
	if pod.Status.StartTime == nil {
		return time.Time{}
	}
	return pod.Status.StartTime.Time
}

// setDeletionFieldsInPlaceIfUnset sets the deletion timestamp of a pod to the given time, and the deletion
// grace period if grace is set. It does not change a field that the pod already has. It modifies and returns
// the given pod.
func setDeletionFieldsInPlaceIfUnset(pod *v1.Pod, at time.Time, grace lifecycle.Grace) *v1.Pod {
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &metav1.Time{Time: at}
	}
	if pod.DeletionGracePeriodSeconds == nil {
		pod.DeletionGracePeriodSeconds = grace.ToAPI()
	}
	return pod
}
