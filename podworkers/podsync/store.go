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

// store publishes a status and reports whether it did: a status that was made without
// knowing the one before is not published.
func (s *Syncer) store(v *syncPass, status v1.PodStatus) bool {
	switch {
	case v.storeErr != nil:
	case v.incarnation.stage == statusIsFormer:
		v.storeErr = s.guard.Do("Status.ReplacePodStatus", func() { s.cfg.Status.ReplacePodStatus(v.pod, status) })
		if v.storeErr == nil {
			v.incarnation.stage = statusIsOwn
		}
	default:
		v.storeErr = s.guard.Do("Status.SetPodStatus", func() { s.cfg.Status.SetPodStatus(v.pod, status) })
	}
	return v.storeErr == nil
}

// finish says that a pod is over.
func (s *Syncer) finish(pod *v1.Pod) error {
	return s.guard.Do("Status.TerminatePod", func() { s.cfg.Status.TerminatePod(pod) })
}

// stored is what was published last, of whatever incarnation. None is known if the store
// panics, which ends the sync pass with an error.
func (s *Syncer) stored(v *syncPass) (status v1.PodStatus, ok bool) {
	err := s.guard.Do("Status.GetPodStatus", func() { status, ok = s.cfg.Status.GetPodStatus(v.pod.UID) })
	if err != nil {
		v.storeErr = err
	}
	return status, ok
}

// published is the newest status of this incarnation, to be changed at will. Nil: there
// is none yet, and if a previous incarnation left one it is not this pod's. What was started
// since is added.
func (s *Syncer) published(v *syncPass) *v1.PodStatus {
	if v.incarnation.stage == statusIsFormer {
		return nil
	}
	status, ok := s.stored(v)
	if !ok {
		return nil
	}
	s.addStarted(v, &status)
	return &status
}

// read is published for those who change nothing of it: look is called with it if
// there is one.
func (s *Syncer) read(v *syncPass, look func(*v1.PodStatus)) {
	if s.statuses != nil && v.incarnation.stage != statusIsFormer && !v.untold() {
		err := s.guard.Do("Status.ReadPodStatus", func() { s.statuses.ReadPodStatus(v.pod.UID, look) })
		if err != nil {
			v.storeErr = err
		}
		return
	}
	if old := s.published(v); old != nil {
		look(old)
	}
}

// took reports whether what was published of a pod is what is stored of it. A status
// that the runtime shows and that cannot follow the one before is refused.
func (s *Syncer) took(v *syncPass, said *v1.PodStatus) (is bool) {
	s.read(v, func(stored *v1.PodStatus) {
		is = stored.Phase == said.Phase && stored.Reason == said.Reason && stored.Message == said.Message
	})
	return is
}
