package admission

import (
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Usage is a copy of what the pods of a Queue take, for questions that are asked while the
// Queue decides. It also has pods that have been handed over and that the Queue has not
// decided on: they are assumed to become what they would have become when they came. The
// zero value has no pods. No method takes time in proportion to their number.
type Usage struct {
	staying, ending Sums
	// waiting are the pods that wait, the highest rank first.
	waiting []*level
	waits   map[types.UID]*level
	// assumed are the pods that the Queue has not decided on; those that have not been
	// judged are in the order of unjudged, which may have more.
	assumed  map[types.UID]*assumption
	unjudged []types.UID
	// leaving are pods that are counted as ending before the Queue has them so.
	leaving map[types.UID]bool
}

// level are the pods of one rank that wait.
type level struct {
	rank int32
	Sums
}

type assumption struct {
	pod    *v1.Pod
	judged bool
}

// The parts of a Queue that a pod may have changed in.
const (
	inStaying uint8 = 1 << iota
	inEnding
)

// Update copies what has changed in the Queue since the last Update.
func (u *Usage) Update(q *Queue) {
	for uid, parts := range q.touched {
		if u.leaving[uid] {
			delete(u.leaving, uid)
			parts |= inStaying | inEnding
		}
		if parts&inStaying != 0 {
			u.Forget(uid)
			u.leave(uid)
			if e := q.staying.items[uid]; e != nil {
				u.at(q.waits[uid] != nil, q.rank(e.Item)).put(e)
			}
			if q.waits[uid] != nil {
				u.wait(uid, q.rank(q.waits[uid].item))
			}
		}
		if parts&inEnding != 0 {
			u.ending.Remove(uid)
			if e := q.ending.items[uid]; e != nil {
				u.ending.put(e)
			}
		}
	}
	if len(q.touched) > minKept {
		q.touched = nil
	}
	clear(q.touched)
}

// minKept is for how many pods an empty map keeps its memory, which a map never gives back.
const minKept = 64

// at is where a pod of this rank is counted.
func (u *Usage) at(waits bool, rank int32) *Sums {
	if !waits {
		return &u.staying
	}
	i, found := slices.BinarySearchFunc(u.waiting, rank, func(l *level, rank int32) int { return compareRanks(l.rank, rank) })
	if !found {
		u.waiting = slices.Insert(u.waiting, i, &level{rank: rank})
	}
	return &u.waiting[i].Sums
}

// wait notes where a pod that waits is counted.
func (u *Usage) wait(uid types.UID, rank int32) {
	if u.waits == nil {
		u.waits = make(map[types.UID]*level)
	}
	for _, l := range u.waiting {
		if l.rank == rank {
			u.waits[uid] = l
		}
	}
}

// leave takes a pod out that stays, or waits.
func (u *Usage) leave(uid types.UID) {
	l := u.waits[uid]
	if l == nil {
		u.staying.Remove(uid)
		return
	}
	delete(u.waits, uid)
	if l.Remove(uid); l.Len() == 0 {
		u.waiting = slices.DeleteFunc(u.waiting, func(other *level) bool { return other == l })
	}
}

// Suspect is a pod that counts and may have ended, though the Queue does not know it yet.
type Suspect struct {
	UID             types.UID
	staying, ending *entry
}

// Suspects are the pods that are ending, and the noted ones of those that stay.
func (u *Usage) Suspects(noted iter.Seq[types.UID]) (suspects []Suspect) {
	for uid, e := range u.ending.items {
		suspects = append(suspects, Suspect{uid, u.staying.items[uid], e})
	}
	for uid := range noted {
		if e := u.staying.items[uid]; e != nil && u.ending.items[uid] == nil {
			suspects = append(suspects, Suspect{uid, e, nil})
		}
	}
	return suspects
}

// Release counts a suspect no more: it has ended. stays: another incarnation of its UID
// stays. What came under the UID since Suspects is not touched.
func (u *Usage) Release(s Suspect, stays bool) {
	if s.ending != nil && u.ending.items[s.UID] == s.ending {
		u.ending.Remove(s.UID)
	}
	if s.staying != nil && !stays && u.staying.items[s.UID] == s.staying {
		u.staying.Remove(s.UID)
	}
}

// Assume notes a pod that has been handed over, in place of an assumed one of its UID. It
// does nothing if the Queue has decided on the UID. It reports whether the pod is new.
func (u *Usage) Assume(pod *v1.Pod) (added bool) {
	_, stays := u.staying.Get(pod.UID)
	known := u.assumed[pod.UID] != nil
	if !known && (stays || u.waits[pod.UID] != nil) {
		return false
	}
	u.Forget(pod.UID)
	if u.assumed == nil {
		u.assumed = make(map[types.UID]*assumption)
	}
	if len(u.unjudged) > 2*len(u.assumed) {
		u.unjudged = slices.DeleteFunc(u.unjudged, func(uid types.UID) bool { return u.assumed[uid] == nil || u.assumed[uid].judged })
	}
	u.assumed[pod.UID] = &assumption{pod: pod}
	u.unjudged = append(u.unjudged, pod.UID)
	return !known
}

// AssumeEnding counts a pod that stays as one that is ending, and one that waits not any more, until
// the Queue has decided on it.
func (u *Usage) AssumeEnding(uid types.UID) {
	e, waits := u.staying.items[uid], u.waits[uid] != nil
	if u.assumed[uid] != nil || !waits && (e == nil || u.ending.items[uid] != nil) {
		return
	}
	if u.leave(uid); !waits { // One that waits has never started.
		u.ending.put(e)
	}
	if u.leaving == nil {
		u.leaving = make(map[types.UID]bool)
	}
	u.leaving[uid] = true
}

// Forget drops a pod that is only assumed.
func (u *Usage) Forget(uid types.UID) {
	if a := u.assumed[uid]; a != nil {
		if delete(u.assumed, uid); len(u.assumed) == 0 {
			u.assumed, u.unjudged = nil, nil
		}
		if a.judged {
			u.leave(uid)
		}
	}
}

// Assumed lists the pods that are only assumed. The list is the caller's.
func (u *Usage) Assumed() []types.UID { return slices.Collect(maps.Keys(u.assumed)) }

// Unjudged is the first of the assumed pods on which there is no verdict; nil: there is none.
func (u *Usage) Unjudged() *v1.Pod {
	for len(u.unjudged) > 0 {
		if a := u.assumed[u.unjudged[0]]; a != nil && !a.judged {
			return a.pod
		}
		u.unjudged = u.unjudged[1:]
	}
	u.unjudged = nil
	return nil
}

// Judged counts an assumed pod by the verdict on it.
func (u *Usage) Judged(item Item, rank int32, verdict Verdict) {
	a := u.assumed[item.UID]
	if a == nil || a.judged || a.pod != item.Pod {
		return // It has been decided on, or judged, meanwhile.
	}
	a.judged = true
	if verdict == Refused {
		return
	}
	sums := u.at(verdict == Waits, rank)
	sums.put(&entry{Item: item, at: max(sums.arrived+1, afterAll)})
	if verdict == Waits {
		u.wait(item.UID, rank)
	}
}

// afterAll is later than the arrival of any pod in a Queue.
const afterAll = 1 << 62

// Beside is what a pod would have beside it if it came now and these pods were gone. list: each
// of the pods may be looked at, which takes time in proportion to their number.
func (u *Usage) Beside(item Item, rank int32, list bool, gone ...types.UID) Beside {
	before := []*Sums{&u.staying}
	for _, l := range u.waiting {
		if compareRanks(l.rank, rank) <= 0 {
			before = append(before, &l.Sums)
		}
	}
	// A pod does not wait for its own previous incarnation.
	return Beside{Staying: extract(item, list, gone, before...), Ending: extract(item, list, gone, &u.ending)}
}

// Allocated is what the pods request together that were admitted, or are assumed to be, and
// have not ended.
func (u *Usage) Allocated() v1.ResourceList {
	x := extract(Item{}, false, nil, &u.staying, &u.ending)
	list := make(v1.ResourceList, len(x.requested))
	for _, a := range x.requested {
		list[a.name] = a.Quantity
	}
	return list
}
