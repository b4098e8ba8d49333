package dirty

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Entry is one pod in a Set with its value.
type Entry[V any] struct {
	UID   types.UID
	Value V
}

// Set is a set of pods, each with one value. All methods may be called from any goroutine, also from within wake.
type Set[V any] struct {
	merge func(old, new V) V
	wake  func()

	mu struct {
		sync.Mutex
		// entries is in order of first Add. An entry whose position differs from the one in index was removed and is
		// skipped.
		entries []Entry[V]
		index   map[types.UID]int
	}
}

// New returns an empty set. merge combines the value in the set with an added value; nil means that the new value
// replaces the old one. merge runs under the lock of the set and must be a pure function.
//
// wake is called after each Add to an empty set, by the adding goroutine and without the lock. Nil wakes no consumer.
func New[V any](merge func(old, new V) V, wake func()) *Set[V] {
	s := &Set[V]{merge: merge, wake: wake}
	s.mu.index = make(map[types.UID]int)
	return s
}

// Add puts the pod into the set, or merges v into the pod's value in the set.
func (s *Set[V]) Add(uid types.UID, v V) {
	if s.addOrMergeEntry(uid, v) && s.wake != nil {
		s.wake()
	}
}

// addOrMergeEntry adds a value under a UID. If the UID already has a value, it merges both with the set's merge
// function. Without a merge function the new value replaces the old one. It returns true if the set was empty
// before.
func (s *Set[V]) addOrMergeEntry(uid types.UID, v V) (wasEmpty bool) {
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

// TakeAll empties the set and appends its entries to buf, in order of first Add. The caller owns the result.
func (s *Set[V]) TakeAll(buf []Entry[V]) []Entry[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := len(s.mu.entries)
	for i, e := range s.mu.entries {
		if at, ok := s.mu.index[e.UID]; ok && at == i {
			buf = append(buf, e)
			// Deleting one key at a time costs only what the set holds now. Clearing the map would cost as much as its
			// largest size so far.
			delete(s.mu.index, e.UID)
		}
	}
	if cap(s.mu.entries) > max(minKept, 4*held) {
		s.mu.entries, s.mu.index = nil, make(map[types.UID]int)
		return buf
	}
	clear(s.mu.entries) // release the values
	s.mu.entries = s.mu.entries[:0]
	return buf
}

// minKept is for how many pods an empty set keeps its memory. After a larger burst the memory is released as soon as a
// TakeAll returns less than a quarter of the capacity.
const minKept = 64

// Remove removes the pod from the set, if it is there. The value is lost. The wake-up that Add caused still happens.
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
		s.compactLocked()
	}
}

// Len returns the number of pods in the set.
func (s *Set[V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.index)
}

// minHoles is how many removed entries a small set keeps before it is compacted.
const minHoles = 8

// compactLocked drops removed entries from the slice and updates the indexes of the others. A caller runs it
// when at least half of the entries were removed, so a set does not grow if pods are added and removed but
// never taken.
func (s *Set[V]) compactLocked() {
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
