package watchcache

import "k8s.io/apimachinery/pkg/watch"

// Change is the step from one version to the next.
type Change[T Object] struct {
	// Version is the version after the change.
	Version uint64
	// Before is the object before the change, zero if it is new. Now is the object after the change, zero if
	// it was removed. Last is the last state of a removed object.
	Before, Now, Last T

	bytes int // size of its object, if there is a bound
}

// Event is a watch event for a Change.
type Event[T Object] struct {
	Type   watch.EventType
	Object T
}

// EventFor returns the watch event for a change, for a watch with a selector. It returns false if that watch
// shows neither state. An object that no longer matches is DELETED, in the last state that matched and with
// the version of the change.
func (c Change[T]) EventFor(match func(T) bool) (Event[T], bool) {
	none := *new(T)
	before, now := c.Before != none && match(c.Before), c.Now != none && match(c.Now)
	switch {
	case before && now:
		return Event[T]{watch.Modified, c.Now}, true
	case now:
		return Event[T]{watch.Added, c.Now}, true
	case before && c.Last != none:
		return Event[T]{watch.Deleted, c.Last}, true
	case before:
		last := copyOf(c.Before)
		last.SetResourceVersion(FormatVersion(c.Version))
		return Event[T]{watch.Deleted, last}, true
	}
	return Event[T]{}, false
}

// ring has the last changes in a ring buffer. It grows up to its size.
type ring[T Object] struct {
	begin   uint64 // the version before the first change
	version uint64 // version of the newest change
	lost    uint64 // the newest version that was dropped because of the bound
	size    int
	changes []Change[T]

	maxBytes, bytes int // zero: no bound
	sizeOf          func(T) int
}

// indexOfVersion returns the index in the ring buffer of the change that leads to a version.
func (r *ring[T]) indexOfVersion(version uint64) int {
	return int((version - r.begin - 1) % uint64(r.size))
}

// oldestVersion returns the oldest version whose later changes are all in the ring buffer.
func (r *ring[T]) oldestVersion() uint64 { return max(r.lost, r.version-uint64(len(r.changes))) }

// addChangeAndDropOld gives a change the next version and stores it. It replaces the oldest change if the ring
// buffer is full, and drops old changes if their size exceeds maxBytes.
func (r *ring[T]) addChangeAndDropOld(c *Change[T]) {
	r.version++
	c.Version = r.version
	if r.maxBytes > 0 {
		o := c.Now
		if o == *new(T) {
			o = c.Last
		}
		c.bytes = r.sizeOf(o)
	}
	if r.bytes += c.bytes; len(r.changes) < r.size {
		r.changes = append(r.changes, *c)
	} else {
		r.bytes -= r.changes[r.indexOfVersion(r.version)].bytes
		r.changes[r.indexOfVersion(r.version)] = *c
	}
	if r.bytes > r.maxBytes {
		r.dropOldestHalf()
	}
}

// dropOldestHalf drops the oldest changes until the size of the rest is at most half of maxBytes. It never
// drops the newest change.
func (r *ring[T]) dropOldestHalf() {
	for v := r.oldestVersion() + 1; v < r.version && r.bytes > r.maxBytes/2; v++ {
		r.bytes -= r.changes[r.indexOfVersion(v)].bytes
		r.changes[r.indexOfVersion(v)] = Change[T]{}
		r.lost = v
	}
}

// changesSince returns a copy of the changes after a version. ok is false if the ring buffer does not have all
// of them, or if the version does not exist yet.
func (r *ring[T]) changesSince(version uint64) (all []Change[T], ok bool) {
	if version > r.version || version < r.oldestVersion() {
		return nil, false
	}
	changes := make([]Change[T], 0, r.version-version)
	for version < r.version {
		version++
		changes = append(changes, r.changes[r.indexOfVersion(version)])
	}
	return changes, true
}
