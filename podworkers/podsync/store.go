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

// storeStatus publishes a status and reports whether that has succeeded. It publishes nothing if the
// status before could not be read.
func (w *statusWriter) storeStatus(status v1.PodStatus) bool {
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

// terminateStoredStatus calls TerminatePod of the status store.
func (w *statusWriter) terminateStoredStatus() error {
	return w.guard.Call("Status.TerminatePod", func() { w.cfg.Status.TerminatePod(w.pod) })
}

// storedStatus returns the newest published status of any incarnation. After a panic of the store the
// pass returns an error.
func (w *statusWriter) storedStatus() (status v1.PodStatus, ok bool) {
	err := w.guard.Call("Status.GetPodStatus", func() { status, ok = w.cfg.Status.GetPodStatus(w.pod.UID) })
	if err != nil {
		w.storePanicErr = err
	}
	return status, ok
}

// publishedStatus returns a copy of the newest status of this incarnation, or nil if there is none yet.
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

// readPublishedStatus calls read with the newest status of this incarnation, unless nothing was
// published yet. read must not change the status.
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

// isStatusStored reports whether the store has accepted a published status. The store rejects a status
// that cannot follow the one before.
func (w *statusWriter) isStatusStored(published *v1.PodStatus) (isStored bool) {
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		isStored = stored.Phase == published.Phase && stored.Reason == published.Reason && stored.Message == published.Message
	})
	return isStored
}
