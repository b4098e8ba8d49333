package merge

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Tracker has the newest pods of one source, and for each changed pod the version that the consumer
// has. The zero value belongs to a source that has delivered nothing. Delivered pods are never
// modified. A Tracker is not safe for concurrent use.
//
// Replace costs time in proportion to the pods of the source. Put and Remove do not, unless a pod
// of the source is rejected. Consume costs time in proportion to the changes.
type Tracker struct {
	ownerSource  string // see SetOwner
	hasSnapshot  bool   // the source has delivered a snapshot
	changeNumber uint64 // of the last change
	lastPlace    uint64 // the last place that was assigned
	pods         map[types.UID]*entry
	names        map[fullName]types.UID
	// order has all pods in the order of the source. An entry without a pod is a hole that a
	// removed pod has left.
	order []*entry
	// fullList is the whole list of a source with a rejected pod, and nil otherwise.
	fullList []*v1.Pod
	rejected []Rejected

	consumed         bool                      // the consumer has called Consume after the first snapshot
	rejectedConsumed []Rejected                // the rejected pods at the last Consume
	changed          map[types.UID]consumedPod // pods that have changed since then
}

// consumedPod is the version of a pod that the consumer has; pod is nil if it has none.
type consumedPod struct{ entry }

// SetOwner says that the Tracker owns the pods that it gets from now on: no other code uses them.
// source is the name of their source. The Tracker sets the local annotations of such a pod once,
// and delivers the pod itself instead of a copy. A pod that already has such annotations may have
// been delivered before, so it is copied. With an empty name, the default, the pods belong to the
// source.
func (t *Tracker) SetOwner(source string) { t.ownerSource = source }

// HasSnapshot reports whether the source has delivered a snapshot.
func (t *Tracker) HasSnapshot() bool { return t.hasSnapshot }

// IsConsumed reports whether the consumer has called Consume after the first snapshot.
func (t *Tracker) IsConsumed() bool { return t.consumed }

// Len returns the number of pods of the source, without the rejected ones.
func (t *Tracker) Len() int { return len(t.pods) }

// Replace sets all pods of the source. Of two pods with the same UID or full name the first is
// used. now is the first-seen time of new pods. A guarded pod is never treated as another pod
// because of its spec: an API server has validated every change of it.
func (t *Tracker) Replace(pods []*v1.Pod, guarded bool, now time.Time) {
	t.changeNumber++
	if !t.updateInPlace(pods, guarded) {
		t.replaceAll(pods, guarded, now)
	}
	t.hasSnapshot = true
}

// Put replaces the pod with this UID, or adds the pod after all others. It does nothing before the
// first Replace.
func (t *Tracker) Put(pod *v1.Pod, guarded bool, now time.Time) {
	if !t.hasSnapshot {
		return
	}
	t.changeNumber++
	if t.fullList != nil || t.needsFullReplace(pod) {
		t.replaceAll(replaceOrAppend(t.allPods(), pod), guarded, now)
		return
	}
	e := t.pods[pod.UID]
	if e == nil {
		t.appendPod(pod, now)
		return
	}
	t.saveVersionBeforeFirstChange(pod.UID, e)
	if !isSameIncarnation(e.pod, pod, guarded) {
		delete(t.names, fullNameOf(e.pod))
		t.names[fullNameOf(pod)] = pod.UID
		e.arrivalNumber, e.firstSeen = t.changeNumber, now
	}
	t.setPodAndAnnotateOwned(e, pod)
}

// Remove removes the pod with this UID.
func (t *Tracker) Remove(uid types.UID, guarded bool, now time.Time) {
	t.changeNumber++
	if t.fullList != nil {
		t.replaceAll(slices.DeleteFunc(t.allPods(), func(p *v1.Pod) bool { return p != nil && p.UID == uid }), guarded, now)
		return
	}
	if e := t.pods[uid]; e != nil {
		t.saveVersionBeforeFirstChange(uid, e)
		t.copyLastDeletionToRemove(uid, e)
		delete(t.pods, uid)
		delete(t.names, fullNameOf(e.pod))
		e.pod = nil
		if len(t.order) > 2*len(t.pods)+minHoles {
			t.removeHolesFromOrder()
		}
	}
}

// minHoles is how many holes the order may always have.
const minHoles = 8

// removeHolesFromOrder deletes the entries without a pod, which removed pods have left, from t.order.
func (t *Tracker) removeHolesFromOrder() {
	t.order = slices.DeleteFunc(t.order, func(e *entry) bool { return e.pod == nil })
}

// updateInPlace replaces the objects of the pods with the objects in a new list, and returns true. All of these
// conditions must hold: the new list has the same pods in the same order, all its pods are valid, and the
// source already has a list without rejected pods. If one does not hold, it replaces no object and returns
// false.
func (t *Tracker) updateInPlace(pods []*v1.Pod, guarded bool) (updated bool) {
	if !t.hasSnapshot || t.fullList != nil || len(pods) != len(t.pods) {
		return false
	}
	t.removeHolesFromOrder()
	for i, e := range t.order {
		if pods[i] == e.pod {
			continue
		}
		if pods[i] == nil || podspec.CheckQuantities(pods[i]) != nil || !isSameIncarnation(e.pod, pods[i], guarded) {
			return false
		}
	}
	for i, e := range t.order {
		if pods[i] != e.pod {
			t.saveVersionBeforeFirstChange(e.pod.UID, e)
			t.setPodAndAnnotateOwned(e, pods[i])
		}
	}
	return true
}

// replaceAll replaces all pods by a list, and stores invalid and duplicate pods as rejected. For each pod that
// changes or is removed it first saves the version that the consumer has. For a removed pod it also keeps the
// last deletion timestamp and grace period.
func (t *Tracker) replaceAll(pods []*v1.Pod, guarded bool, now time.Time) {
	before := t.pods
	t.pods, t.names = make(map[types.UID]*entry, len(pods)), make(map[fullName]types.UID, len(pods))
	t.order, t.rejected, t.fullList = make([]*entry, 0, len(pods)), nil, nil
	for _, pod := range pods {
		if err := t.checkListedPod(pod); err != nil {
			t.rejected = append(t.rejected, Rejected{pod, err})
			continue
		}
		e := before[pod.UID]
		delete(before, pod.UID)
		if e != nil {
			t.updateAndMoveToEnd(e, pod, guarded, now)
		} else {
			t.appendPod(pod, now)
		}
	}
	for uid, e := range before {
		t.saveVersionBeforeFirstChange(uid, e)
		t.copyLastDeletionToRemove(uid, e)
	}
	if t.rejected != nil {
		t.fullList = slices.Clone(pods)
	}
}

// appendPod adds a new pod after all others, and records that the consumer does not have it yet.
func (t *Tracker) appendPod(pod *v1.Pod, now time.Time) {
	t.saveVersionBeforeFirstChange(pod.UID, nil)
	e := &entry{arrivalNumber: t.changeNumber, firstSeen: now}
	t.setPodAndAnnotateOwned(e, pod)
	t.appendEntry(e)
}

// updateAndMoveToEnd replaces the object of a known pod and moves the pod to the end of the order. If the new
// object is a re-created pod with the same UID, it gets a new arrival number and first-seen time, so that the
// consumer gets a removal and an addition.
func (t *Tracker) updateAndMoveToEnd(e *entry, pod *v1.Pod, guarded bool, now time.Time) {
	if e.pod != pod {
		t.saveVersionBeforeFirstChange(pod.UID, e)
		if !isSameIncarnation(e.pod, pod, guarded) {
			e.arrivalNumber, e.firstSeen = t.changeNumber, now
		}
		t.setPodAndAnnotateOwned(e, pod)
	}
	t.appendEntry(e)
}

// appendEntry appends an entry to the order and stores it by UID and by full name.
func (t *Tracker) appendEntry(e *entry) {
	t.lastPlace++
	e.place = t.lastPlace
	t.pods[e.pod.UID] = e
	t.names[fullNameOf(e.pod)] = e.pod.UID
	t.order = append(t.order, e)
}

// saveVersionBeforeFirstChange saves the version of a pod that the consumer has, before the first change since
// the last Consume. The next Consume compares it with the newest version. Before later changes it does nothing.
// A nil entry means that the consumer does not have the pod.
func (t *Tracker) saveVersionBeforeFirstChange(uid types.UID, e *entry) {
	if _, marked := t.changed[uid]; marked {
		return
	}
	if t.changed == nil {
		t.changed = make(map[types.UID]consumedPod)
	}
	t.changed[uid] = consumedPod{}
	if e != nil {
		t.changed[uid] = consumedPod{*e}
	}
}

// copyLastDeletionToRemove copies the newest deletion timestamp and grace period of a removed pod into the
// version that REMOVE delivers. Example: kubectl delete --force sends a deletion with grace period 0 and, right
// after it, the removal. Without the copy the consumer would not see grace period 0.
func (t *Tracker) copyLastDeletionToRemove(uid types.UID, e *entry) {
	p := t.changed[uid]
	if p.pod == nil || p.arrivalNumber != e.arrivalNumber || e.pod.DeletionTimestamp == nil {
		return
	}
	pod := *p.pod // The rest stays as the consumer has it.
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = e.pod.DeletionTimestamp, e.pod.DeletionGracePeriodSeconds
	p.pod = &pod
	t.changed[uid] = p
}

// allPods returns a new list of all pods of the source in order, including the rejected ones.
func (t *Tracker) allPods() []*v1.Pod {
	if t.fullList != nil {
		return slices.Clone(t.fullList)
	}
	pods := make([]*v1.Pod, 0, len(t.pods)+1)
	for _, e := range t.order {
		if e.pod != nil {
			pods = append(pods, e.pod)
		}
	}
	return pods
}

// replaceOrAppend replaces the pod with the same UID in the list in place, or appends the pod if there is none.
// A nil pod is appended.
func replaceOrAppend(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	if pod != nil {
		if i := slices.IndexFunc(pods, func(p *v1.Pod) bool { return p != nil && p.UID == pod.UID }); i >= 0 {
			pods[i] = pod
			return pods
		}
	}
	return append(pods, pod)
}
