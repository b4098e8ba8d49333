package node

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unique"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// historyStore keeps of each pod what Explain needs and no other part keeps. A pod takes memory from its first
// event until the first housekeeping at which the node does not know it.
type historyStore struct {
	mu struct {
		sync.Mutex
		pods map[types.UID]*history
	}
}

// history is what is remembered of one pod.
type history struct {
	pod  *v1.Pod // as it was wanted last; an object that is never changed
	ring explain.Ring
	held map[string]time.Time // by container
	last explain.Sync
	look unique.Handle[string] // of its newest status: that of most pods
	rare *rareHistory          // nil: there is nothing of it
}

// rareHistory is what there is to remember of few pods only.
type rareHistory struct {
	// refused is why the newest status was refused; empty: it was not. told is the reason of the last
	// event about that.
	refused, told string
	// probes are in the order in which they were first heard of.
	probes []probed
}

// rarely is rare, which it makes if there is none.
func (one *history) rarely() *rareHistory {
	if one.rare == nil {
		one.rare = &rareHistory{}
	}
	return one.rare
}

// probed is what the last check of a probe has said of a container.
type probed struct {
	id string // of the container
	explain.Probe
}

func newHistoryStore() *historyStore {
	h := &historyStore{}
	h.mu.pods = make(map[types.UID]*history)
	return h
}

func (h *historyStore) ofLocked(uid types.UID) *history {
	one := h.mu.pods[uid]
	if one == nil {
		one = &history{}
		h.mu.pods[uid] = one
	}
	return one
}

// begin remembers the pod from now on.
func (h *historyStore) begin(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ofLocked(uid)
}

// add remembers that something happened.
func (h *historyStore) add(uid types.UID, e explain.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ofLocked(uid).ring.Add(e)
}

// looks remembers how a pod looks, if that is new.
func (h *historyStore) looks(uid types.UID, pod *v1.Pod, look string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.ofLocked(uid)
	one.pod = pod
	if shared := unique.Make(look); one.look != shared {
		one.look = shared
		one.ring.Add(explain.Entry{At: at, What: "status", Text: look})
	}
}

// refuses remembers why a status was refused, and reports whether that is news.
func (h *historyStore) refuses(uid types.UID, why string, at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.ofLocked(uid)
	rare := one.rarely()
	rare.refused = why
	if rare.told == why {
		return false
	}
	rare.told = why
	one.ring.Add(explain.Entry{At: at, What: "status", Text: "refused", Err: why})
	return true
}

// agrees: what the runtime shows is what is said of the pod.
func (h *historyStore) agrees(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil && one.rare != nil {
		one.rare.refused = ""
	}
}

// synced remembers how the last sync ended.
func (h *historyStore) synced(uid types.UID, last explain.Sync) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ofLocked(uid).last = last
}

// hold remembers that a container waits, or, with a zero time, that it does not.
func (h *historyStore) hold(uid types.UID, container string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.ofLocked(uid)
	if until.IsZero() {
		delete(one.held, container)
		return
	}
	if one.held == nil {
		one.held = make(map[string]time.Time)
	}
	one.held[container] = until
}

// probed remembers what a check has said.
func (h *historyStore) probed(uid types.UID, p probed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rare := h.ofLocked(uid).rarely()
	for i := range rare.probes {
		old := &rare.probes[i]
		if old.Container != p.Container || old.Kind != p.Kind {
			continue
		}
		if old.id == p.id && old.Success == p.Success {
			p.At = old.At
		}
		*old = p
		return
	}
	rare.probes = append(rare.probes, p)
}

// over drops what has no meaning for the next incarnation of the UID.
func (h *historyStore) over(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.ofLocked(uid)
	one.held, one.last, one.rare = nil, explain.Sync{}, nil
}

// addTo adds the history of a pod to facts, and the pod if they have none.
func (h *historyStore) addTo(uid types.UID, f *explain.Facts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.mu.pods[uid]
	if one == nil {
		return
	}
	if f.Pod == nil {
		f.Pod = one.pod
	}
	f.History, f.LastSync = one.ring.Entries(), one.last
	if one.rare != nil {
		f.StatusRefused = one.rare.refused
		for i := range one.rare.probes {
			f.Probes = append(f.Probes, one.rare.probes[i].Probe)
		}
	}
	f.BackoffUntil = make(map[string]time.Time, len(one.held))
	for name, until := range one.held {
		f.BackoffUntil[name] = until
	}
}

// named are the remembered pods of a name, the newest first.
func (h *historyStore) named(namespace, name string) []types.UID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []*v1.Pod
	for _, one := range h.mu.pods {
		if one.pod != nil && one.pod.Namespace == namespace && one.pod.Name == name {
			found = append(found, one.pod)
		}
	}
	slices.SortFunc(found, func(a, b *v1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	uids := make([]types.UID, len(found))
	for i, pod := range found {
		uids[i] = pod.UID
	}
	return uids
}

// all are the remembered pods, as they were desired last.
func (h *historyStore) all() (pods []*v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.mu.pods {
		if one.pod != nil {
			pods = append(pods, one.pod)
		}
	}
	return pods
}

// pod is the remembered pod as it was desired last, or nil.
func (h *historyStore) pod(uid types.UID) *v1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil {
		return one.pod
	}
	return nil
}

// forget drops all pods that are not known, and returns them. known is called with no lock held.
func (h *historyStore) forget(known func(types.UID) bool) []types.UID {
	h.mu.Lock()
	uids := make([]types.UID, 0, len(h.mu.pods))
	for uid := range h.mu.pods {
		uids = append(uids, uid)
	}
	h.mu.Unlock()
	uids = slices.DeleteFunc(uids, known)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uid := range uids {
		delete(h.mu.pods, uid)
	}
	return uids
}
