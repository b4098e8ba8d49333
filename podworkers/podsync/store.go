package podsync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// StatusStore keeps the newest status of each pod: a status.Store, or another one. A panic is
// contained and fails the sync, which is tried again.
type StatusStore interface {
	podmanager.PodStatuses
	// TerminatePod is called after the last status of a pod was published: none of its
	// containers runs, and its volumes are gone. It is called once, or more often if the
	// agent cannot know that it was.
	TerminatePod(pod *v1.Pod)
}

// StatusReader is an optional part of a StatusStore: it shows a status without a copy.
type StatusReader interface {
	// ReadPodStatus calls read once with the status that was published last, and returns
	// true, or returns false if there is none. What is shown is never changed: after a
	// SetPodStatus with news another one is shown. read may keep it, does not change it, and
	// calls nothing.
	ReadPodStatus(uid types.UID, read func(*v1.PodStatus)) bool
}

// storeStatus publishes a status and reports whether it did. It does not publish a status if the one
// before could not be read.
func (w *statusWriter) storeStatus(status v1.PodStatus) bool {
	switch {
	case w.storeErr != nil:
	case w.incarnation.stage == statusIsFormer:
		w.storeErr = w.guard.Call("Status.ReplacePodStatus", func() { w.cfg.Status.ReplacePodStatus(w.pod, status) })
		if w.storeErr == nil {
			w.incarnation.stage = statusIsOwn
		}
	default:
		w.storeErr = w.guard.Call("Status.SetPodStatus", func() { w.cfg.Status.SetPodStatus(w.pod, status) })
	}
	return w.storeErr == nil
}

// terminateStatus calls TerminatePod of the status store.
func (w *statusWriter) terminateStatus() error {
	return w.guard.Call("Status.TerminatePod", func() { w.cfg.Status.TerminatePod(w.pod) })
}

// storedStatus returns the status that was published last, of any incarnation. A panic of the store ends
// the pass with an error.
func (w *statusWriter) storedStatus() (status v1.PodStatus, ok bool) {
	err := w.guard.Call("Status.GetPodStatus", func() { status, ok = w.cfg.Status.GetPodStatus(w.pod.UID) })
	if err != nil {
		w.storeErr = err
	}
	return status, ok
}

// publishedStatus returns a copy of the newest status of this incarnation, or nil if there is none yet.
func (w *statusWriter) publishedStatus() *v1.PodStatus {
	if w.incarnation.stage == statusIsFormer {
		return nil
	}
	status, ok := w.storedStatus()
	if !ok {
		return nil
	}
	return &status
}

// readPublishedStatus calls look with the newest status of this incarnation, if there is one. look must
// not change the status.
func (w *statusWriter) readPublishedStatus(look func(*v1.PodStatus)) {
	if w.statuses != nil && w.incarnation.stage != statusIsFormer {
		err := w.guard.Call("Status.ReadPodStatus", func() { w.statuses.ReadPodStatus(w.pod.UID, look) })
		if err != nil {
			w.storeErr = err
		}
		return
	}
	if old := w.publishedStatus(); old != nil {
		look(old)
	}
}

// isStatusStored reports whether the store has accepted a published status. It rejects a status that
// cannot follow the one before.
func (w *statusWriter) isStatusStored(said *v1.PodStatus) (is bool) {
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		is = stored.Phase == said.Phase && stored.Reason == said.Reason && stored.Message == said.Message
	})
	return is
}
