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

// storeNewestPodOfServer stores the newest pod that the server has sent. fromOwnWrite says that the pod is the
// response to this sink's write. outagesBegun is the number of outages of the server that had begun at that
// time.
func (r *record) storeNewestPodOfServer(pod *v1.Pod, fromOwnWrite bool, outagesBegun int) {
	r.server, r.fromOwnWrite, r.outagesBegun = pod, fromOwnWrite, outagesBegun
}

// knownStatus returns the pod's status at the server, or nil if it is unknown.
func (r *record) knownStatus() *v1.PodStatus {
	if r.server == nil || r.statusUnknown {
		return nil
	}
	return &r.server.Status
}

// compareVersion compares the resource version of pod with the stored one. The result is negative if pod is
// older, and positive if pod is newer, if no pod is stored, or if the versions cannot be compared.
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

// storeShownPodUnlessOld stores a pod that the watch shows, and marks it as existing. It returns false if the
// stored pod has the same version, or if the pod is older than this sink's last write, because the watch sent
// it before the write. Any other older pod replaces the stored one: the server was restored from a backup.
func (r *record) storeShownPodUnlessOld(pod *v1.Pod, outagesBegun int) (changed bool) {
	r.gone = false
	order := r.compareVersion(pod)
	if r.fromOwnWrite && order < 0 {
		return false
	}
	if order == 0 {
		r.fromOwnWrite, r.outagesBegun = false, outagesBegun
		return false
	}
	r.storeNewestPodOfServer(pod, false, outagesBegun)
	if order < 0 {
		r.deleteAccepted = false // The restored server has lost the deletion.
	}
	return true
}

// Observe records each state of a pod that the watch shows. If another writer has changed a field of the node, it
// requests that the status is sent again. It may be called at any time.
func (s *Sink) Observe(pod *v1.Pod) {
	again, resend := s.storeObservedPodAndListResends(pod)
	for _, uid := range again {
		resend(uid)
	}
}

// storeObservedPodAndListResends stores a pod that the watch has shown. It returns the UIDs of the pods whose
// status must be sent again, and the function that requests that: the pod itself if its status at the server
// differs from the wanted status, or for a new mirror pod all static pods of its name.
func (s *Sink) storeObservedPodAndListResends(pod *v1.Pod) (again []types.UID, resend func(types.UID)) {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.mu.records[pod.UID]
	known := before != nil && !before.gone
	r := s.getOrCreateRecordLocked(pod.UID)
	acceptedBefore := r.deleteAccepted
	if !r.storeShownPodUnlessOld(pod, outages) {
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

// staticPodsNamedLocked returns the UIDs of the static pods with a full name, in order. There can be two,
// because one can terminate while the next waits.
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
func (s *Sink) Gone(uid types.UID) { s.forgetPodAndMarkGone(uid, true) }

// forgetPodAndMarkGone deletes the record of a pod that the server does not have. If shown is true, the watch has
// shown the deletion, and the sink sends nothing more for the UID. If shown is false, the server has only returned
// NotFound. A server that has just started may return NotFound for an existing pod, so the sink continues to send
// statuses for the UID.
func (s *Sink) forgetPodAndMarkGone(uid types.UID, shown bool) {
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

// forgetWantedStatus forgets the wanted status of a pod that the status store has removed. If the server has
// never shown the pod, it deletes everything it stores about the pod.
func (s *Sink) forgetWantedStatus(removed status.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.statics, removed.UID)
	for uid, r := range s.mu.records {
		switch {
		case r.local != removed.UID:
		case r.server == nil:
			delete(s.mu.records, uid)
		default:
			r.local, r.wanted, r.residue = "", nil, nil
		}
	}
}

// recordPatchedPod stores the pod that the server has returned for a patch, unless a newer version is stored,
// and which part of the wanted status the server has not adopted. It does nothing if the pod has no record or
// is gone.
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
		r.storeNewestPodOfServer(pod, true, outages)
	}
	if r.wanted != nil {
		r.residue, _ = patch.PodStatus(uid, &pod.Status, r.wanted)
	}
}

// isBeingRemoved reports whether the newest known pod was deleted with grace zero and has no finalizers. The
// server removes such a pod soon, so the sink must not write to it.
func (s *Sink) isBeingRemoved(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && patch.IsBeingRemoved(r.server)
}

// recordRemovalWaitIfFirst records that Send waits for the server to remove a force-deleted pod. It returns false and
// records nothing if the server is not removing the pod, or if Send has waited for it before.
func (s *Sink) recordRemovalWaitIfFirst(uid types.UID) (mustWait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.removalAwaited || r.server == nil || !patch.IsBeingRemoved(r.server) {
		return false
	}
	r.removalAwaited = true
	return true
}

// recordReadPod stores a pod that was read from the server, unless a newer version is stored. It returns false
// if the server has no such pod or another UID. An older pod is also stored after an outage, or if the server
// has just refused the stored version: the server was then restored from a backup.
func (s *Sink) recordReadPod(uid types.UID, pod *v1.Pod) (samePod bool) {
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
		r.storeNewestPodOfServer(pod, true, outages)
	case order == 0:
		r.outagesBegun = outages
	case r.server.ResourceVersion == r.patchVersion || r.outagesBegun != outages:
		r.storeNewestPodOfServer(pod, false, outages)
		r.deleteAccepted = false
	}
	return true
}

// countBegunOutages returns how many outages of the server have begun.
func (s *Sink) countBegunOutages() int { return s.cfg.Contact.State().OutagesBegun }

// hasServerLostDeletion reports whether the pod of the status is being deleted, while the server has an older
// version of the pod without the deletion. The server was then restored from a backup. It returns false for
// mirror pods.
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

// hasOutageBegunSinceLastSeen reports whether an outage has begun since the server last showed or returned the
// pod, so that the server may have other data now. It returns false for a pod that the server has never shown.
func (s *Sink) hasOutageBegunSinceLastSeen(uid types.UID) bool {
	outages := s.countBegunOutages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && r.outagesBegun != outages
}

// markStatusUnknown records that the pod's status at the server is unknown, until a read or a patch returns the
// pod.
func (s *Sink) markStatusUnknown(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.statusUnknown = true
	}
}

// markDeleteAccepted records that the server has accepted the delete with grace zero that removes a terminated
// pod. The watch may still show the pod for a while.
func (s *Sink) markDeleteAccepted(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.deleteAccepted = true
	}
}

// needsFinalDelete reports whether the sink must delete the pod at the server with grace zero, because a client
// has deleted it and it has finished. It returns false for a mirror pod, if the server has accepted such a
// delete already, and if the pod's status at the server is unknown, unless the server is removing the pod.
func (s *Sink) needsFinalDelete(uid types.UID, finished bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && !r.deleteAccepted && r.server != nil && (!r.statusUnknown || patch.IsBeingRemoved(r.server)) && patch.CanDelete(r.server, uid, finished)
}
