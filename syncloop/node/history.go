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
	pod          *v1.Pod // as it was wanted last; an object that is never changed
	ring         explain.Ring
	backoffUntil map[string]time.Time // by container
	lastSync     explain.Sync
	summary      unique.Handle[string] // of its newest status: that of most pods
	cold         *coldHistory          // nil: there is nothing of it
}

// coldHistory is what there is to remember of few pods only.
type coldHistory struct {
	// refusal is why the newest status was refused; empty: it was not. told is the reason of the last
	// event about that.
	refusal, reportedRefusal string
	// probes are in the order in which they were first heard of.
	probes []probeResult
}

// ensureCold is rare, which it makes if there is none.
func (one *history) ensureCold() *coldHistory {
	if one.cold == nil {
		one.cold = &coldHistory{}
	}
	return one.cold
}

// probeResult is what the last check of a probe has said of a container.
type probeResult struct {
	id string // of the container
	explain.Probe
}

func newHistoryStore() *historyStore {
	h := &historyStore{}
	h.mu.pods = make(map[types.UID]*history)
	return h
}

func (h *historyStore) getOrCreateLocked(uid types.UID) *history {
	one := h.mu.pods[uid]
	if one == nil {
		one = &history{}
		h.mu.pods[uid] = one
	}
	return one
}

// ensureHistory remembers the pod from now on.
func (h *historyStore) ensureHistory(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid)
}

// addEntry remembers that something happened.
func (h *historyStore) addEntry(uid types.UID, e explain.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid).ring.Add(e)
}

// recordSummary remembers how a pod looks, if that is new.
func (h *historyStore) recordSummary(uid types.UID, pod *v1.Pod, summary string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	one.pod = pod
	if shared := unique.Make(summary); one.summary != shared {
		one.summary = shared
		one.ring.Add(explain.Entry{At: at, What: "status", Text: summary})
	}
}

// recordRefusal remembers why a status was refused, and reports whether that is news.
func (h *historyStore) recordRefusal(uid types.UID, refusal string, at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	rare := one.ensureCold()
	rare.refusal = refusal
	if rare.reportedRefusal == refusal {
		return false
	}
	rare.reportedRefusal = refusal
	one.ring.Add(explain.Entry{At: at, What: "status", Text: "refused", Err: refusal})
	return true
}

// clearRefusal: what the runtime shows is what is said of the pod.
func (h *historyStore) clearRefusal(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil && one.cold != nil {
		one.cold.refusal = ""
	}
}

// recordSync remembers how the last sync ended.
func (h *historyStore) recordSync(uid types.UID, last explain.Sync) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid).lastSync = last
}

// setBackoff remembers that a container waits, or, with a zero time, that it does not.
func (h *historyStore) setBackoff(uid types.UID, container string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	if until.IsZero() {
		delete(one.backoffUntil, container)
		return
	}
	if one.backoffUntil == nil {
		one.backoffUntil = make(map[string]time.Time)
	}
	one.backoffUntil[container] = until
}

// probeResult remembers what a check has said.
func (h *historyStore) recordProbe(uid types.UID, p probeResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rare := h.getOrCreateLocked(uid).ensureCold()
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

// resetForNextIncarnation drops what has no meaning for the next incarnation of the UID.
func (h *historyStore) resetForNextIncarnation(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	one.backoffUntil, one.lastSync, one.cold = nil, explain.Sync{}, nil
}

// addToFacts adds the history of a pod to facts, and the pod if they have none.
func (h *historyStore) addToFacts(uid types.UID, f *explain.Facts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.mu.pods[uid]
	if one == nil {
		return
	}
	if f.Pod == nil {
		f.Pod = one.pod
	}
	f.History, f.LastSync = one.ring.Entries(), one.lastSync
	if one.cold != nil {
		f.StatusRefused = one.cold.refusal
		for i := range one.cold.probes {
			f.Probes = append(f.Probes, one.cold.probes[i].Probe)
		}
	}
	f.BackoffUntil = make(map[string]time.Time, len(one.backoffUntil))
	for name, until := range one.backoffUntil {
		f.BackoffUntil[name] = until
	}
}

// uidsByName are the remembered pods of a name, the newest first.
func (h *historyStore) uidsByName(namespace, name string) []types.UID {
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

// lastPods are the remembered pods, as they were desired last.
func (h *historyStore) lastPods() (pods []*v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.mu.pods {
		if one.pod != nil {
			pods = append(pods, one.pod)
		}
	}
	return pods
}

// lastPod is the remembered pod as it was desired last, or nil.
func (h *historyStore) lastPod(uid types.UID) *v1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil {
		return one.pod
	}
	return nil
}

// forgetUnknownPods drops all pods that are not known, and returns them. known is called with no lock held.
func (h *historyStore) forgetUnknownPods(isKnown func(types.UID) bool) []types.UID {
	h.mu.Lock()
	uids := make([]types.UID, 0, len(h.mu.pods))
	for uid := range h.mu.pods {
		uids = append(uids, uid)
	}
	h.mu.Unlock()
	uids = slices.DeleteFunc(uids, isKnown)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uid := range uids {
		delete(h.mu.pods, uid)
	}
	return uids
}
