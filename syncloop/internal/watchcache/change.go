package watchcache

import "k8s.io/apimachinery/pkg/watch"

// Change is one step from a version to the next.
type Change[T Object] struct {
	// Version is the one that the change leads to.
	Version uint64
	// Before is the object as it was, none if it is new; Now is the object as it is, none if
	// it is gone. Last is the last state of one that is gone.
	Before, Now, Last T

	bytes int // that its object takes, if there is a bound
}

// Event is what a watch shows of a Change.
type Event[T Object] struct {
	Type   watch.EventType
	Object T
}

// EventFor is what a change means to a watch that shows the objects that match. It reports
// false if that watch shows nothing of it. An object that does not match any more is shown as
// it was when it did, with the version of the change.
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

// ring holds the last changes. It grows to its size, which is all the memory that it ever
// takes.
type ring[T Object] struct {
	begin   uint64 // the version before the first change
	version uint64 // of the newest change
	lost    uint64 // the newest version that was forgotten because of the bound
	size    int
	changes []Change[T]

	maxBytes, bytes int // zero: no bound
	sizeOf          func(T) int
}

// slot is the place of the change that leads to a version.
func (r *ring[T]) slot(version uint64) int { return int((version - r.begin - 1) % uint64(r.size)) }

// oldestVersion is the version after which every change is known.
func (r *ring[T]) oldestVersion() uint64 { return max(r.lost, r.version-uint64(len(r.changes))) }

// addChange gives the change the next version, and forgets the oldest ones if there is no room.
func (r *ring[T]) addChange(c *Change[T]) {
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
		r.bytes -= r.changes[r.slot(r.version)].bytes
		r.changes[r.slot(r.version)] = *c
	}
	if r.bytes > r.maxBytes {
		r.dropOldestHalf()
	}
}

// dropOldestHalf forgets the oldest changes, but not the last one.
func (r *ring[T]) dropOldestHalf() {
	for v := r.oldestVersion() + 1; v < r.version && r.bytes > r.maxBytes/2; v++ {
		r.bytes -= r.changes[r.slot(v)].bytes
		r.changes[r.slot(v)] = Change[T]{}
		r.lost = v
	}
}

// changesSince is a copy of the changes after a version.
func (r *ring[T]) changesSince(version uint64) ([]Change[T], bool) {
	if version > r.version || version < r.oldestVersion() {
		return nil, false
	}
	changes := make([]Change[T], 0, r.version-version)
	for version < r.version {
		version++
		changes = append(changes, r.changes[r.slot(version)])
	}
	return changes, true
}
