package dirty

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Entry is one pod in a Set with what is known about it.
type Entry[V any] struct {
	UID   types.UID
	Value V
}

// Set is a set of pods, each with one value. All methods may be called from
// any goroutine, also from within wake.
type Set[V any] struct {
	merge func(old, new V) V
	wake  func()

	mu struct {
		sync.Mutex
		// entries is in order of first Add. An entry whose place is not the
		// one in index is a hole that Drop left; it is skipped.
		entries []Entry[V]
		index   map[types.UID]int
	}
}

// New returns an empty set. merge combines the value that is in the set with
// one that is added; nil means that the newer one replaces the older. It runs
// under the set's lock and must be a plain function of its arguments.
//
// wake is called after each Add that made the set non-empty, by the goroutine
// that added and without the lock. Nil means that nobody is to be woken.
func New[V any](merge func(old, new V) V, wake func()) *Set[V] {
	s := &Set[V]{merge: merge, wake: wake}
	s.mu.index = make(map[types.UID]int)
	return s
}

// Add puts the pod into the set, or merges v into the value that it has there.
func (s *Set[V]) Add(uid types.UID, v V) {
	if s.add(uid, v) && s.wake != nil {
		s.wake()
	}
}

// add does the work of Add and reports whether the set was empty before.
func (s *Set[V]) add(uid types.UID, v V) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.mu.index[uid]; ok {
		if s.merge != nil {
			v = s.merge(s.mu.entries[i].Value, v)
		}
		s.mu.entries[i].Value = v
		return false
	}
	s.mu.index[uid] = len(s.mu.entries)
	s.mu.entries = append(s.mu.entries, Entry[V]{UID: uid, Value: v})
	return len(s.mu.index) == 1
}

// TakeAll empties the set and appends to buf what it held, in order of first Add.
// What is returned belongs to the caller.
func (s *Set[V]) TakeAll(buf []Entry[V]) []Entry[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := len(s.mu.entries)
	for i, e := range s.mu.entries {
		if at, ok := s.mu.index[e.UID]; ok && at == i {
			buf = append(buf, e)
			// One by one: clearing the map would cost what its largest size
			// costs, for ever after a single burst.
			delete(s.mu.index, e.UID)
		}
	}
	if cap(s.mu.entries) > max(minKept, 4*held) {
		s.mu.entries, s.mu.index = nil, make(map[types.UID]int)
		return buf
	}
	clear(s.mu.entries) // let go of the values
	s.mu.entries = s.mu.entries[:0]
	return buf
}

// minKept is for how many pods an empty set keeps its memory. What a burst of more has taken is
// given back when four times fewer are taken.
const minKept = 64

// Remove removes the pod from the set, if it is there: what it had to tell is
// not told. The wake-up that its Add caused is not taken back.
func (s *Set[V]) Remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.mu.index[uid]
	if !ok {
		return
	}
	delete(s.mu.index, uid)
	s.mu.entries[i] = Entry[V]{UID: uid}
	if len(s.mu.entries) >= 2*(len(s.mu.index)+minHoles) {
		s.closeHolesLocked()
	}
}

// Len is the number of pods in the set at this moment.
func (s *Set[V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.index)
}

// minHoles is how many holes are left in a small set before it is tidied.
const minHoles = 8

// closeHolesLocked moves the entries together. It runs when at least half of
// the places are holes, so that its cost is paid by the drops before it and a
// set that is added to and dropped from but never taken does not grow.
func (s *Set[V]) closeHolesLocked() {
	live := s.mu.entries[:0]
	for i, e := range s.mu.entries {
		if at, ok := s.mu.index[e.UID]; ok && at == i {
			s.mu.index[e.UID] = len(live)
			live = append(live, e)
		}
	}
	clear(s.mu.entries[len(live):])
	s.mu.entries = live
}
