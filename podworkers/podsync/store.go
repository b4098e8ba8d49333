package podsync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// StatusStore stores the newest status of each pod: a status.Store, or another implementation. A panic
// is contained and fails the sync, which is retried.
type StatusStore interface {
	podmanager.PodStatuses
	// TerminatePod is called after the last status of a pod was published. At that time none of its
	// containers runs, and its volumes are torn down. A restarted agent may call it again.
	TerminatePod(pod *v1.Pod)
}

// StatusReader is an optional part of a StatusStore. It reads a status without a copy.
type StatusReader interface {
	// ReadPodStatus calls read once with the newest published status and returns true, or returns false
	// if there is no status. A stored status is never changed: a SetPodStatus that changes something
	// stores another pointer. read may store the pointer. read must not change the status, and must
	// call no method of the store.
	ReadPodStatus(uid types.UID, read func(*v1.PodStatus)) bool
}

// replaceOrSetStoredStatus stores a status in the status store. It calls ReplacePodStatus if the stored status
// may belong to a former pod with this UID. In all other cases it calls SetPodStatus. It returns false if the
// store panics. If the store has panicked before in this sync, it does nothing.
func (w *statusWriter) replaceOrSetStoredStatus(status v1.PodStatus) (ok bool) {
	switch {
	case w.storePanicErr != nil:
	case w.incarnation.stage == storedStatusMayBeFormer:
		w.storePanicErr = w.guard.Call("Status.ReplacePodStatus", func() { w.cfg.Status.ReplacePodStatus(w.pod, status) })
		if w.storePanicErr == nil {
			w.incarnation.stage = storedStatusIsOwn
		}
	default:
		w.storePanicErr = w.guard.Call("Status.SetPodStatus", func() { w.cfg.Status.SetPodStatus(w.pod, status) })
	}
	return w.storePanicErr == nil
}

// terminatePodInStatusStore calls TerminatePod of the status store. It returns an error only if the store
// panics.
func (w *statusWriter) terminatePodInStatusStore() error {
	return w.guard.Call("Status.TerminatePod", func() { w.cfg.Status.TerminatePod(w.pod) })
}

// storedStatus returns the status that the status store has under the pod's UID. That status may belong to a
// former pod with the same UID. ok is false if the store has no status, or if the store panics. It keeps the
// panic in storePanicErr, so that the sync fails.
func (w *statusWriter) storedStatus() (status v1.PodStatus, ok bool) {
	err := w.guard.Call("Status.GetPodStatus", func() { status, ok = w.cfg.Status.GetPodStatus(w.pod.UID) })
	if err != nil {
		w.storePanicErr = err
	}
	return status, ok
}

// publishedStatus returns a copy of the stored status of this pod. It returns nil if there is none, or if the
// stored status may be of a former pod with this UID.
func (w *statusWriter) publishedStatus() *v1.PodStatus {
	if w.incarnation.stage == storedStatusMayBeFormer {
		return nil
	}
	status, ok := w.storedStatus()
	if !ok {
		return nil
	}
	return &status
}

// readPublishedStatus calls read with the stored status of this pod. It does not call read if there is none, or
// if the stored status may be of a former pod with this UID. read must not change the status. A panic of the
// store is kept in storePanicErr.
func (w *statusWriter) readPublishedStatus(read func(*v1.PodStatus)) {
	if w.statuses != nil && w.incarnation.stage != storedStatusMayBeFormer {
		err := w.guard.Call("Status.ReadPodStatus", func() { w.statuses.ReadPodStatus(w.pod.UID, read) })
		if err != nil {
			w.storePanicErr = err
		}
		return
	}
	if old := w.publishedStatus(); old != nil {
		read(old)
	}
}

// isPhaseReasonAndMessageStored reports whether the stored status has the same phase, reason and message as the given
// one. They differ if the store has rejected the given status.
func (w *statusWriter) isPhaseReasonAndMessageStored(published *v1.PodStatus) (isStored bool) {
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		isStored = stored.Phase == published.Phase && stored.Reason == published.Reason && stored.Message == published.Message
	})
	return isStored
}
