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

// historyStore has the events and other data of each pod that only Explain needs. A pod has a history
// from its first event until the first housekeeping at which the node does not know the pod.
type historyStore struct {
	mu struct {
		sync.Mutex
		pods map[types.UID]*history
	}
}

// history is the recorded past of one pod.
type history struct {
	pod          *v1.Pod // newest desired spec; never modified
	ring         explain.Ring
	backoffUntil map[string]time.Time // by container
	lastSync     explain.Sync
	summary      unique.Handle[string] // of the newest status, shared between pods
	cold         *coldHistory          // nil: all cold fields are empty
}

// coldHistory has the fields of history that few pods need.
type coldHistory struct {
	// refusal is why the newest status was rejected, or "". reportedRefusal is the reason in the last event
	// about a rejected status.
	refusal, reportedRefusal string
	// probes are in the order of their first checks.
	probes []probeResult
}

// getOrCreateCold returns the fields of the history that few pods need. They are a separate allocation, which
// it makes if it is missing.
func (one *history) getOrCreateCold() *coldHistory {
	if one.cold == nil {
		one.cold = &coldHistory{}
	}
	return one.cold
}

// probeResult is the result of the newest check of a probe.
type probeResult struct {
	id string // ID of the container
	explain.Probe
}

func newHistoryStore() *historyStore {
	h := &historyStore{}
	h.mu.pods = make(map[types.UID]*history)
	return h
}

// getOrCreateLocked returns the history of a pod, and creates it if it is missing.
func (h *historyStore) getOrCreateLocked(uid types.UID) *history {
	one := h.mu.pods[uid]
	if one == nil {
		one = &history{}
		h.mu.pods[uid] = one
	}
	return one
}

// createHistoryIfMissing creates an empty history for a pod that has none.
func (h *historyStore) createHistoryIfMissing(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid)
}

// addEntry adds an event to the history of a pod, and creates the history if it is missing.
func (h *historyStore) addEntry(uid types.UID, e explain.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid).ring.Add(e)
}

// setPodAndAddSummaryIfNew stores the desired pod in its history. It also stores the summary of the pod's
// status, and adds an event if the summary differs from the one before.
func (h *historyStore) setPodAndAddSummaryIfNew(uid types.UID, pod *v1.Pod, summary string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	one.pod = pod
	if shared := unique.Make(summary); one.summary != shared {
		one.summary = shared
		one.ring.Add(explain.Entry{At: at, What: "status", Text: summary})
	}
}

// setRefusalAndAddIfNew stores why the status store rejected the newest status of a pod. If the reason differs
// from the one in the last such event, it also adds an event to the history and returns true.
func (h *historyStore) setRefusalAndAddIfNew(uid types.UID, refusal string, at time.Time) (added bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	rare := one.getOrCreateCold()
	rare.refusal = refusal
	if rare.reportedRefusal == refusal {
		return false
	}
	rare.reportedRefusal = refusal
	one.ring.Add(explain.Entry{At: at, What: "status", Text: "refused", Err: refusal})
	return true
}

// clearRefusal clears the stored reason why the status store rejected a status of the pod. The reason in the
// last event stays, so that the same rejection is not reported twice.
func (h *historyStore) clearRefusal(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil && one.cold != nil {
		one.cold.refusal = ""
	}
}

// setLastSync stores the time and the error of the last sync of a pod.
func (h *historyStore) setLastSync(uid types.UID, last explain.Sync) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.getOrCreateLocked(uid).lastSync = last
}

// setBackoff stores until when a container waits for its next start. A zero time deletes the entry.
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

// setProbeResult stores the last result of a probe and replaces the result before. If the container ID and the
// success are the same, it keeps the earlier time, which then says since when the probe has this result.
func (h *historyStore) setProbeResult(uid types.UID, p probeResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rare := h.getOrCreateLocked(uid).getOrCreateCold()
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

// clearAfterPodFinished deletes the back-offs, the last sync, the probe results and the rejected status of a
// pod that has finished, so that a new pod with the same UID does not show them. The events and the desired pod
// stay.
func (h *historyStore) clearAfterPodFinished(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.getOrCreateLocked(uid)
	one.backoffUntil, one.lastSync, one.cold = nil, explain.Sync{}, nil
}

// copyHistoryToFacts copies the history of a pod into facts. It sets the pod too if the facts have none. It
// does nothing if the pod has no history.
func (h *historyStore) copyHistoryToFacts(uid types.UID, f *explain.Facts) {
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

// uidsByNameNewestFirst returns the UIDs of all pods in the history that were desired under a name. The pod
// that was created last comes first.
func (h *historyStore) uidsByNameNewestFirst(namespace, name string) []types.UID {
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

// lastPods returns the last desired pod of every UID that has one in its history.
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

// lastPod returns the last desired pod of a UID, or nil if its history has none.
func (h *historyStore) lastPod(uid types.UID) *v1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.mu.pods[uid]; one != nil {
		return one.pod
	}
	return nil
}

// forgetUnknownPods deletes the histories of all pods for which isKnown returns false, and returns their UIDs.
// It does not hold its lock while it calls isKnown.
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
