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
func (p *syncPass) storeStatus(status v1.PodStatus) bool {
	switch {
	case p.storeErr != nil:
	case p.incarnation.stage == statusIsFormer:
		p.storeErr = p.guard.Do("Status.ReplacePodStatus", func() { p.cfg.Status.ReplacePodStatus(p.pod, status) })
		if p.storeErr == nil {
			p.incarnation.stage = statusIsOwn
		}
	default:
		p.storeErr = p.guard.Do("Status.SetPodStatus", func() { p.cfg.Status.SetPodStatus(p.pod, status) })
	}
	return p.storeErr == nil
}

// terminateStatus calls TerminatePod of the status store.
func (p *syncPass) terminateStatus() error {
	return p.guard.Do("Status.TerminatePod", func() { p.cfg.Status.TerminatePod(p.pod) })
}

// storedStatus returns the status that was published last, of any incarnation. A panic of the store ends
// the pass with an error.
func (p *syncPass) storedStatus() (status v1.PodStatus, ok bool) {
	err := p.guard.Do("Status.GetPodStatus", func() { status, ok = p.cfg.Status.GetPodStatus(p.pod.UID) })
	if err != nil {
		p.storeErr = err
	}
	return status, ok
}

// publishedStatus returns a copy of the newest status of this incarnation, or nil if there is none yet.
func (p *syncPass) publishedStatus() *v1.PodStatus {
	if p.incarnation.stage == statusIsFormer {
		return nil
	}
	status, ok := p.storedStatus()
	if !ok {
		return nil
	}
	return &status
}

// readPublishedStatus calls look with the newest status of this incarnation, if there is one. look must
// not change the status.
func (p *syncPass) readPublishedStatus(look func(*v1.PodStatus)) {
	if p.statuses != nil && p.incarnation.stage != statusIsFormer {
		err := p.guard.Do("Status.ReadPodStatus", func() { p.statuses.ReadPodStatus(p.pod.UID, look) })
		if err != nil {
			p.storeErr = err
		}
		return
	}
	if old := p.publishedStatus(); old != nil {
		look(old)
	}
}

// isStatusStored reports whether the store has accepted a published status. It rejects a status that
// cannot follow the one before.
func (p *syncPass) isStatusStored(said *v1.PodStatus) (is bool) {
	p.readPublishedStatus(func(stored *v1.PodStatus) {
		is = stored.Phase == said.Phase && stored.Reason == said.Reason && stored.Message == said.Message
	})
	return is
}
