package watchcache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Change is one step from a version to the next.
type Change struct {
	// Version is the one that the change leads to.
	Version uint64
	// Before is the pod as it was, nil if it is new; Now is the pod as it is, nil if it is
	// gone. Last is the last state of one that is gone.
	Before, Now, Last *v1.Pod
}

// Event is what a watch shows of a Change.
type Event struct {
	Type watch.EventType
	Pod  *v1.Pod
}

// For is what a change means to a watch that shows the pods that match. It reports false
// if that watch shows nothing of it. A pod that does not match any more is shown as it was
// when it did, with the version of the change.
func (c Change) For(match func(*v1.Pod) bool) (Event, bool) {
	before, now := c.Before != nil && match(c.Before), c.Now != nil && match(c.Now)
	switch {
	case before && now:
		return Event{watch.Modified, c.Now}, true
	case now:
		return Event{watch.Added, c.Now}, true
	case before && c.Last != nil:
		return Event{watch.Deleted, c.Last}, true
	case before:
		last := shallow(c.Before)
		last.ResourceVersion = Format(c.Version)
		return Event{watch.Deleted, last}, true
	}
	return Event{}, false
}

// ring holds the last changes. It grows to its size, which is all the memory that it ever
// takes.
type ring struct {
	begin   uint64 // the version before the first change
	version uint64 // of the newest change
	size    int
	changes []Change
}

// at is the place of the change that leads to a version.
func (r *ring) at(version uint64) int { return int((version - r.begin - 1) % uint64(r.size)) }

// add gives the change the next version, and forgets the oldest one if there is no room.
func (r *ring) add(c *Change) {
	r.version++
	c.Version = r.version
	if len(r.changes) < r.size {
		r.changes = append(r.changes, *c)
		return
	}
	r.changes[r.at(r.version)] = *c
}

// since is a copy of the changes after a version.
func (r *ring) since(version uint64) ([]Change, bool) {
	count := r.version - version
	if version > r.version || count > uint64(len(r.changes)) {
		return nil, false
	}
	changes := make([]Change, 0, count)
	for version < r.version {
		version++
		changes = append(changes, r.changes[r.at(version)])
	}
	return changes, true
}
