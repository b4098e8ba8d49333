package merge

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Tracker is what one source has, and what of that its consumer has not taken yet. The zero
// value is that of a source that has said nothing. The pods are never changed from the
// moment they are handed over. A Tracker is not safe for concurrent use.
//
// Replace costs time in proportion to the pods of the source, Put and Remove do not, unless
// something of the source is rejected, and Take in proportion to what has changed.
type Tracker struct {
	owner  string // see Own
	heard  bool   // the source has said what it has
	number uint64 // of the last change
	places uint64 // that have been given away
	pods   map[types.UID]*entry
	names  map[fullName]types.UID
	// order has all pods in the order of the source, and holes of those that were removed.
	order []*entry
	// faulty is the whole list of a source that has something that is rejected; nil for others.
	faulty   []*v1.Pod
	rejected []Rejected

	taken bool               // the consumer has taken something
	told  []Rejected         // what was rejected then
	dirty map[types.UID]past // what has changed since then
}

// past is what the consumer has of a pod; nothing if pod is nil.
type past struct{ entry }

// SetOwner says that the pods that are handed over from now on, of the source of this name, are the
// Tracker's: no other code has them. It sets the local annotations of each once and delivers the
// pod itself, instead of a copy. One that comes with such annotations may have been delivered
// before, and is copied. With an empty name they are the source's, as they are at first.
func (t *Tracker) SetOwner(source string) { t.owner = source }

// HasSnapshot reports whether the source has said what it has.
func (t *Tracker) HasSnapshot() bool { return t.heard }

// IsConsumed reports whether the consumer has taken that the source was heard.
func (t *Tracker) IsConsumed() bool { return t.taken }

// Len is how many pods the source has, without the rejected ones.
func (t *Tracker) Len() int { return len(t.pods) }

// Replace: the source says at time now that these pods are all it has. Order counts: of two
// pods that exclude each other the first is kept. Guarded pods are never rebuilt: an API
// server has allowed every change of them.
func (t *Tracker) Replace(pods []*v1.Pod, guarded bool, now time.Time) {
	t.number++
	if !t.refresh(pods, guarded) {
		t.rebuild(pods, guarded, now)
	}
	t.heard = true
}

// Put: the source has this pod in place of the one with its UID, or after all others. It
// does nothing before the first Replace.
func (t *Tracker) Put(pod *v1.Pod, guarded bool, now time.Time) {
	if !t.heard {
		return
	}
	t.number++
	if t.faulty != nil || t.disturbs(pod) {
		t.rebuild(put(t.list(), pod), guarded, now)
		return
	}
	e := t.pods[pod.UID]
	if e == nil {
		t.append(pod, now)
		return
	}
	t.mark(pod.UID, e)
	if !stays(e.pod, pod, guarded) {
		delete(t.names, fullNameOf(e.pod))
		t.names[fullNameOf(pod)] = pod.UID
		e.arrived, e.seen = t.number, now
	}
	t.hold(e, pod)
}

// Remove: the source has no pod with this UID any more.
func (t *Tracker) Remove(uid types.UID, guarded bool, now time.Time) {
	t.number++
	if t.faulty != nil {
		t.rebuild(slices.DeleteFunc(t.list(), func(p *v1.Pod) bool { return p != nil && p.UID == uid }), guarded, now)
		return
	}
	if e := t.pods[uid]; e != nil {
		t.mark(uid, e)
		t.keepLastDeletion(uid, e)
		delete(t.pods, uid)
		delete(t.names, fullNameOf(e.pod))
		e.pod = nil
		if len(t.order) > 2*len(t.pods)+minHoles {
			t.closeHoles()
		}
	}
}

// minHoles is how many holes are left in the order of few pods.
const minHoles = 8

func (t *Tracker) closeHoles() {
	t.order = slices.DeleteFunc(t.order, func(e *entry) bool { return e.pod == nil })
}

// refresh takes newer objects of the same pods in the same order, and reports false if these
// are others: one came, went, or became another. The same ones have no fault either.
func (t *Tracker) refresh(pods []*v1.Pod, guarded bool) bool {
	if !t.heard || t.faulty != nil || len(pods) != len(t.pods) {
		return false
	}
	t.closeHoles()
	for i, e := range t.order {
		if pods[i] == e.pod {
			continue
		}
		if pods[i] == nil || podspec.CheckQuantities(pods[i]) != nil || !stays(e.pod, pods[i], guarded) {
			return false
		}
	}
	for i, e := range t.order {
		if pods[i] != e.pod {
			t.mark(e.pod.UID, e)
			t.hold(e, pods[i])
		}
	}
	return true
}

// rebuild takes a list that may have anything in it.
func (t *Tracker) rebuild(pods []*v1.Pod, guarded bool, now time.Time) {
	before := t.pods
	t.pods, t.names = make(map[types.UID]*entry, len(pods)), make(map[fullName]types.UID, len(pods))
	t.order, t.rejected, t.faulty = make([]*entry, 0, len(pods)), nil, nil
	for _, pod := range pods {
		if err := t.admit(pod); err != nil {
			t.rejected = append(t.rejected, Rejected{pod, err})
			continue
		}
		e := before[pod.UID]
		delete(before, pod.UID)
		if e != nil {
			t.updateEntry(e, pod, guarded, now)
		} else {
			t.append(pod, now)
		}
	}
	for uid, e := range before {
		t.mark(uid, e)
		t.keepLastDeletion(uid, e)
	}
	if t.rejected != nil {
		t.faulty = slices.Clone(pods)
	}
}

// append takes a new pod after all others.
func (t *Tracker) append(pod *v1.Pod, now time.Time) {
	t.mark(pod.UID, nil)
	e := &entry{arrived: t.number, seen: now}
	t.hold(e, pod)
	t.enter(e)
}

// updateEntry updates a known pod and moves it behind all others. A pod that stays keeps its arrival.
func (t *Tracker) updateEntry(e *entry, pod *v1.Pod, guarded bool, now time.Time) {
	if e.pod != pod {
		t.mark(pod.UID, e)
		if !stays(e.pod, pod, guarded) {
			e.arrived, e.seen = t.number, now
		}
		t.hold(e, pod)
	}
	t.enter(e)
}

func (t *Tracker) enter(e *entry) {
	t.places++
	e.place = t.places
	t.pods[e.pod.UID] = e
	t.names[fullNameOf(e.pod)] = e.pod.UID
	t.order = append(t.order, e)
}

// mark remembers what the consumer has of a pod that is about to change.
func (t *Tracker) mark(uid types.UID, e *entry) {
	if _, marked := t.dirty[uid]; marked {
		return
	}
	if t.dirty == nil {
		t.dirty = make(map[types.UID]past)
	}
	t.dirty[uid] = past{}
	if e != nil {
		t.dirty[uid] = past{*e}
	}
}

// keepLastDeletion gives the REMOVE of a pod the newest deletion that the source has delivered, with its grace
// period. The consumer may not have taken that deletion before the pod was removed: an API server shows a forced
// deletion and, right after it, the removal.
func (t *Tracker) keepLastDeletion(uid types.UID, e *entry) {
	p := t.dirty[uid]
	if p.pod == nil || p.arrived != e.arrived || e.pod.DeletionTimestamp == nil {
		return
	}
	pod := *p.pod // The rest is as it was taken.
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = e.pod.DeletionTimestamp, e.pod.DeletionGracePeriodSeconds
	p.pod = &pod
	t.dirty[uid] = p
}

// list is the whole list of the source.
func (t *Tracker) list() []*v1.Pod {
	if t.faulty != nil {
		return slices.Clone(t.faulty)
	}
	pods := make([]*v1.Pod, 0, len(t.pods)+1)
	for _, e := range t.order {
		if e.pod != nil {
			pods = append(pods, e.pod)
		}
	}
	return pods
}

// put is a list with one more pod or one replaced.
func put(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	if pod != nil {
		if i := slices.IndexFunc(pods, func(p *v1.Pod) bool { return p != nil && p.UID == pod.UID }); i >= 0 {
			pods[i] = pod
			return pods
		}
	}
	return append(pods, pod)
}
