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

// record is what the sink knows of one pod at the server.
type record struct {
	local   types.UID     // the pod that runs
	gone    bool          // the server showed that the pod is gone; nothing is sent until it shows the pod again
	server  *v1.Pod       // as acknowledged or shown last
	ahead   bool          // it was acknowledged, and not shown yet
	want    *v1.PodStatus // as sent last, or being sent
	residue []byte        // what the server did not take over of that
	based   string        // the version that the last patch was for; empty: any
	unsure  bool          // an answer was lost
	deleted bool          // the server has said that it removes the pod
	awaited bool          // a removal that the server does itself was waited for
	outages int           // that had ended when the server showed or returned the pod last
}

// learn stores the state that the server has shown or returned. outages is Contact's count at that time.
func (r *record) learn(pod *v1.Pod, ahead bool, outages int) {
	r.server, r.ahead, r.outages = pod, ahead, outages
}

// status is the one at the server; nil if it is not known.
func (r *record) status() *v1.PodStatus {
	if r.server == nil || r.unsure {
		return nil
	}
	return &r.server.Status
}

// compare orders a state of the pod and the one that is known: negative is older.
func (r *record) compare(pod *v1.Pod) int {
	if r.server == nil {
		return 1
	}
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, r.server.ResourceVersion)
	if err != nil {
		return 1
	}
	return order
}

// show takes a state of the pod that the server shows, and reports whether it is news. One that
// is older than our own last write was on its way before that. Any other takes the place of what
// was shown before it, though its version may be lower: that of a server whose data were
// restored.
func (r *record) show(pod *v1.Pod, outages int) bool {
	r.gone = false
	order := r.compare(pod)
	if r.ahead && order < 0 {
		return false
	}
	if order == 0 {
		r.ahead, r.outages = false, outages
		return false
	}
	r.learn(pod, false, outages)
	if order < 0 {
		r.deleted = false // The server has forgotten it.
	}
	return true
}

// Observe takes each state of a pod that the server shows, and
// has a status sent again that another writer has changed. It may be called at any time.
func (s *Sink) Observe(pod *v1.Pod) {
	again, resend := s.observe(pod)
	for _, uid := range again {
		resend(uid)
	}
}

// observe returns the pods whose status is to be sent again. Those of a new mirror pod are all
// static pods of its name: one may end while the next waits for this mirror pod.
func (s *Sink) observe(pod *v1.Pod) (again []types.UID, resend func(types.UID)) {
	outages := s.outages()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.mu.records[pod.UID]
	known := before != nil && !before.gone
	r := s.recordLocked(pod.UID)
	deleted := r.deleted
	if !r.show(pod, outages) {
		return nil, nil
	}
	if podmanager.IsMirrorPod(pod) {
		name := podmanager.FullName(pod)
		if s.mu.mirrors[name] = pod; !known {
			return s.namedLocked(name), s.mu.now
		}
	}
	if r.want == nil {
		return nil, nil
	}
	raw, err := patch.PodStatus(pod.UID, &pod.Status, r.want)
	said := err != nil || raw == nil || bytes.Equal(raw, r.residue)
	if said && r.deleted == deleted {
		return nil, nil
	}
	return []types.UID{r.local}, s.mu.resend
}

// namedLocked are the static pods of a name.
func (s *Sink) namedLocked(name string) (uids []types.UID) {
	for uid, of := range s.mu.statics {
		if of == name {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// Gone removes a pod that the server does not have any more. The Sink sends no status of the pod until Observe
// is called with it again, which happens if the data of the server are restored from a backup. Gone may be called at
// any time.
func (s *Sink) Gone(uid types.UID) { s.remove(uid, true) }

// remove drops the state of a pod that the server does not have. shown: the server has shown that. An
// answer "not found" proves less, as a server that has just started may give it of a pod that it has.
func (s *Sink) remove(uid types.UID, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil {
		return
	}
	if delete(s.mu.records, uid); r.local != "" {
		s.mu.records[uid] = &record{local: r.local, gone: shown}
	}
	if r.server != nil {
		if name := podmanager.FullName(r.server); s.mu.mirrors[name] != nil && s.mu.mirrors[name].UID == uid {
			delete(s.mu.mirrors, name)
		}
	}
}

// forget drops what was sent of a pod that the store has forgotten, and all of one that the
// server has never shown.
func (s *Sink) forget(u status.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.statics, u.UID)
	for uid, r := range s.mu.records {
		switch {
		case r.local != u.UID:
		case r.server == nil:
			delete(s.mu.records, uid)
		default:
			r.local, r.want, r.residue = "", nil, nil
		}
	}
}

// acknowledge takes the pod of an answer to a patch, unless it is gone by now.
func (s *Sink) acknowledge(uid types.UID, pod *v1.Pod) {
	outages := s.outages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.gone {
		return
	}
	r.unsure = false
	if r.compare(pod) > 0 {
		r.learn(pod, true, outages)
	}
	if r.want != nil {
		r.residue, _ = patch.PodStatus(uid, &pod.Status, r.want)
	}
}

// removed reports whether the server removes a pod now, and is not to be disturbed.
func (s *Sink) removed(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && patch.IsRemoved(r.server)
}

// awaits reports, once, whether a removal is to be waited for that the server does itself.
func (s *Sink) awaits(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.awaited || r.server == nil || !patch.IsRemoved(r.server) {
		return false
	}
	r.awaited = true
	return true
}

// read notes the state that was read after a conflict, unless a newer one was shown meanwhile. It
// reports whether it is that of the pod. If the server has refused the very version that is known,
// what was read counts though its version may be lower: the data of the server were restored, and
// our last write, which no watch has shown, is lost.
func (s *Sink) read(uid types.UID, pod *v1.Pod) bool {
	outages := s.outages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.gone || pod == nil || pod.UID != uid {
		return false
	}
	r.unsure = false
	switch order := r.compare(pod); {
	case order > 0:
		r.learn(pod, true, outages)
	case order == 0:
		r.outages = outages
	case r.server.ResourceVersion == r.based || r.outages != outages:
		r.learn(pod, false, outages)
		r.deleted = false
	}
	return true
}

// outages returns how many outages of the server have begun.
func (s *Sink) outages() int {
	state := s.cfg.Contact.State()
	if state.Failures > 0 {
		return state.Outages + 1
	}
	return state.Outages
}

// isNewer reports whether a status was made for a newer version of its pod than the server has shown or returned. The
// data of the server were restored from a backup then. An example is the status of a pod that was deleted after the
// backup was made: the server has the pod again, and it is not deleted there.
func (s *Sink) isNewer(u *status.Update, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	if r == nil || r.server == nil || uid != u.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(u.Pod.ResourceVersion, r.server.ResourceVersion)
	return err == nil && order > 0
}

// isFromBeforeOutage reports whether the state of the pod was learned before an outage of the server, after which the server may have other data.
func (s *Sink) isFromBeforeOutage(uid types.UID) bool {
	outages := s.outages()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && r.server != nil && r.outages != outages
}

// unsure notes that the state at the server is not known until the next answer.
func (s *Sink) unsure(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.unsure = true
	}
}

// removes notes that the server has answered the deletion of a pod: states from between the two
// steps of the removal may come after that.
func (s *Sink) removes(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.records[uid]; r != nil {
		r.deleted = true
	}
}

// finalDelete reports whether the pod is to be removed from the server.
func (s *Sink) finalDelete(uid types.UID, finished bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[uid]
	return r != nil && !r.deleted && r.server != nil && (!r.unsure || patch.IsRemoved(r.server)) && patch.CanDelete(r.server, uid, finished)
}
