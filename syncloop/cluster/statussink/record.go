package statussink

import (
	"bytes"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// record is the known state of one pod at the server.
type record struct {
	local          types.UID     // UID of the pod that runs; differs for a mirror pod
	gone           bool          // the server showed that the pod is gone; nothing is sent until it shows the pod again
	server         *v1.Pod       // newest known state
	fromOwnWrite   bool          // server is a response to a write that the watch has not shown
	wanted         *v1.PodStatus // status that was sent last, or is being sent
	residue        []byte        // part of wanted that the server has not adopted
	patchVersion   string        // resource version of the last patch; empty: none
	statusUnknown  bool          // a response was lost, so the server's status is unknown
	deleteAccepted bool          // the server has accepted the final delete
	removalAwaited bool          // Send has waited once for a removal by the server
	outagesBegun   int           // outages that had begun when the server last showed or returned the pod
}

// storeState stores a state that the server has shown or returned. outagesBegun is the number of outages that had begun
// then.
func (r *record) storeState(pod *v1.Pod, fromOwnWrite bool, outagesBegun int) {
	r.server, r.fromOwnWrite, r.outagesBegun = pod, fromOwnWrite, outagesBegun
}

// knownStatus returns the status at the server, or nil if it is unknown.
func (r *record) knownStatus() *v1.PodStatus {
	if r.server == nil || r.statusUnknown {
		return nil
	}
	return &r.server.Status
}

// compareVersion compares the version of a pod with the known version. A negative result means that pod is older.
func (r *record) compareVersion(pod *v1.Pod) int {
	if r.server == nil {
		return 1
	}
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, r.server.ResourceVersion)
	if err != nil {
		return 1
	}
	return order
}

// applyShownPod stores a state of the pod that the watch shows, and reports whether it is new. A state older than this
// sink's last write was sent before the write, so it is dropped. Any other state replaces the last one, even with a
// lower version: then the server was restored from a backup.
func (r *record) applyShownPod(pod *v1.Pod, outagesBegun int) bool {
	r.gone = false
	order := r.compareVersion(pod)
	if r.fromOwnWrite && order < 0 {
		return false
	}
	if order == 0 {
		r.fromOwnWrite, r.outagesBegun = false, outagesBegun
		return false
	}
	r.storeState(pod, false, outagesBegun)
	if order < 0 {
		r.deleteAccepted = false // The restored server has lost the deletion.
	}
	return true
}

// Observe records each state of a pod that the watch shows. If another writer has changed a field of the node, it
// requests that the status is sent again. It may be called at any time.
func (s *Sink) Observe(pod *v1.Pod) {
	again, resend := s.recordObservedPod(pod)
	for _, uid := range again {
		resend(uid)
	}
}

// recordObservedPod records a shown pod and returns the pods whose status must be sent again. For a new mirror pod
// these are all static pods of its name, because one can terminate while the next waits for this mirror pod.
func (s *Sink) recordObservedPod(pod *v1.Pod) (again []types.UID, resend func(types.UID)) {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.mu.records[pod.UID]
	known := before != nil && !before.gone
	r := s.getOrCreateRecordLocked(pod.UID)
	acceptedBefore := r.deleteAccepted
	if !r.applyShownPod(pod, outages) {
		return nil, nil
	}
	if podmanager.IsMirrorPod(pod) {
		name := podmanager.FullName(pod)
		if s.mu.mirrors[name] = pod; !known {
			return s.staticPodsNamedLocked(name), s.mu.resendNow
		}
	}
	if r.wanted == nil {
		return nil, nil
	}
	raw, err := patch.PodStatus(pod.UID, &pod.Status, r.wanted)
	nothingToSend := err != nil || raw == nil || bytes.Equal(raw, r.residue)
	if nothingToSend && r.deleteAccepted == acceptedBefore {
		return nil, nil
	}
	return []types.UID{r.local}, s.mu.resend
}

// staticPodsNamedLocked returns the static pods with a full name.
func (s *Sink) staticPodsNamedLocked(name string) (uids []types.UID) {
	for uid, of := range s.mu.statics {
		if of == name {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// Gone removes a pod that the server no longer has. The Sink sends no status of the pod until Observe is called with it
// again, for example after a restore of the server from a backup. Gone may be called at any time.
func (s *Sink) Gone(uid types.UID) { s.removePod(uid, true) }

// removePod drops the state of a pod that the server does not have. shown means that the watch has shown the deletion.
// A response NotFound proves less: a server that has just started may return it for an existing pod.
func (s *Sink) removePod(uid types.UID, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil {
		return
	}
	if delete(s.mu.records, uid); r.local == uid { // A new mirror pod has another UID.
		s.mu.records[uid] = &record{local: r.local, gone: shown}
	}
	if r.server != nil {
		if name := podmanager.FullName(r.server); s.mu.mirrors[name] != nil && s.mu.mirrors[name].UID == uid {
			delete(s.mu.mirrors, name)
		}
	}
}

// forgetSentStatus forgets the sent status of a pod that the status store has removed. If the server has never shown
// the pod, it forgets the whole record.
func (s *Sink) forgetSentStatus(u status.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.statics, u.UID)
	for uid, r := range s.mu.records {
		switch {
		case r.local != u.UID:
		case r.server == nil:
			delete(s.mu.records, uid)
		default:
			r.local, r.wanted, r.residue = "", nil, nil
		}
	}
}

// recordPatchedPod records the pod in the response to a patch, unless the pod is gone.
func (s *Sink) recordPatchedPod(uid types.UID, pod *v1.Pod) {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.gone {
		return
	}
	r.statusUnknown = false
	if r.compareVersion(pod) > 0 {
		r.storeState(pod, true, outages)
	}
	if r.wanted != nil {
		r.residue, _ = patch.PodStatus(uid, &pod.Status, r.wanted)
	}
}

// isBeingRemoved reports whether the server is removing the pod, so that the sink must not write to it.
func (s *Sink) isBeingRemoved(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && patch.IsBeingRemoved(r.server)
}

// startRemovalWait records that Send waits for the server to remove a force-deleted pod. It returns false if the server
// is not removing the pod, or if Send has waited for it before.
func (s *Sink) startRemovalWait(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.removalAwaited || r.server == nil || !patch.IsBeingRemoved(r.server) {
		return false
	}
	r.removalAwaited = true
	return true
}

// recordReadPod records a state that was read from the server, unless a newer state is known. It returns false if the
// pod is another one. An older state counts if the server has refused exactly the known version, or after an outage:
// then the server was restored from a backup and has lost this sink's last write.
func (s *Sink) recordReadPod(uid types.UID, pod *v1.Pod) bool {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.gone || pod == nil || pod.UID != uid {
		return false
	}
	r.statusUnknown = false
	switch order := r.compareVersion(pod); {
	case order > 0:
		r.storeState(pod, true, outages)
	case order == 0:
		r.outagesBegun = outages
	case r.server.ResourceVersion == r.patchVersion || r.outagesBegun != outages:
		r.storeState(pod, false, outages)
		r.deleteAccepted = false
	}
	return true
}

// countBegunOutages returns how many outages of the server have begun.
func (s *Sink) countBegunOutages() int { return s.cfg.Contact.State().OutagesBegun }

// hasServerLostDeletion reports whether a status was made for a deleted pod whose deletion the server no longer has. Then
// the server was restored from a backup that is older than the deletion. Only a lost deletion counts: the node may also
// know a newer version of a pod that is as it was, and has to report its status.
func (s *Sink) hasServerLostDeletion(u *status.Update, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.server == nil || uid != u.UID || u.Pod.DeletionTimestamp == nil || r.server.DeletionTimestamp != nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(u.Pod.ResourceVersion, r.server.ResourceVersion)
	return err == nil && order > 0
}

// isKnownBeforeOutage reports whether an outage has begun since the server last showed or returned the pod.
// After the outage the server may have other data. It returns false for a pod that the server has never shown.
func (s *Sink) isKnownBeforeOutage(uid types.UID) bool {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && r.outagesBegun != outages
}

// markStatusUnknown marks the server's status as unknown until the next response.
func (s *Sink) markStatusUnknown(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.statusUnknown = true
	}
}

// markDeleteAccepted records that the server has accepted the final delete. The watch may still show states from before
// the removal.
func (s *Sink) markDeleteAccepted(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.deleteAccepted = true
	}
}

// needsFinalDelete reports whether the sink must delete the pod at the server.
func (s *Sink) needsFinalDelete(uid types.UID, finished bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && !r.deleteAccepted && r.server != nil && (!r.statusUnknown || patch.IsBeingRemoved(r.server)) && patch.CanDelete(r.server, uid, finished)
}
