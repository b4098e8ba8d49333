package diff

import (
	"slices"
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

// State is the state of a sandbox or container in the event table.
type State uint8

// The states of the table.
const (
	// Absent: there is no such record.
	Absent State = iota
	// Unknown: created, or in an unknown state.
	Unknown
	// Running: running; for a sandbox: ready.
	Running
	// Exited: exited; for a sandbox: not ready.
	Exited
)

// String returns the state's name for transcripts.
func (s State) String() string {
	switch s {
	case Absent:
		return "absent"
	case Running:
		return "running"
	case Exited:
		return "exited"
	}
	return "unknown"
}

// Item is one sandbox or container. The event table treats both alike.
type Item struct {
	ID    string
	State State
}

// Items appends the records of a status, sorted by ID and without duplicates.
func Items(buf []Item, status *runtime.PodStatus) []Item {
	if status == nil {
		return buf
	}
	start := len(buf)
	for i := range status.Sandboxes {
		buf = append(buf, sandboxItem(&status.Sandboxes[i].Sandbox))
	}
	for i := range status.Containers {
		buf = append(buf, containerItem(&status.Containers[i].Container))
	}
	return sortAndDedup(buf, start)
}

// ListedItems is Items for a pod of a listing.
func ListedItems(buf []Item, pod *runtime.Pod) []Item {
	start := len(buf)
	for i := range pod.Sandboxes {
		buf = append(buf, sandboxItem(&pod.Sandboxes[i]))
	}
	for i := range pod.Containers {
		buf = append(buf, containerItem(&pod.Containers[i]))
	}
	return sortAndDedup(buf, start)
}

// sandboxItem returns the ID and the state of a sandbox. The state is Running for a ready sandbox and Exited
// for any other.
func sandboxItem(s *runtime.Sandbox) Item {
	if s.Ready {
		return Item{s.ID, Running}
	}
	return Item{s.ID, Exited}
}

// containerItem returns the container's ID with its state: Running, Exited, or Unknown for every other state.
func containerItem(c *runtime.Container) Item {
	switch c.State {
	case runtime.StateRunning:
		return Item{c.ID, Running}
	case runtime.StateExited:
		return Item{c.ID, Exited}
	}
	return Item{c.ID, Unknown}
}

// sortAndDedup sorts items[start:] by ID and keeps one item for each ID. Of two items with one ID the later
// state is kept, because states only move forward. The result includes the items before start.
func sortAndDedup(items []Item, start int) []Item {
	added := items[start:]
	slices.SortFunc(added, func(a, b Item) int {
		if c := strings.Compare(a.ID, b.ID); c != 0 {
			return c
		}
		return int(b.State) - int(a.State)
	})
	added = slices.CompactFunc(added, func(a, b Item) bool { return a.ID == b.ID })
	return items[:start+len(added)]
}

// Lists compares two listings index by index. It appends to buf the indexes of next whose pod
// differs. If the two listings do not have the same UIDs at the same indexes, sameOrder is false and
// nothing is appended.
//
// This is the whole cost of a listing without changes: it allocates nothing, and strings that both
// listings share are compared by pointer.
func Lists(buf []int, prev, next []runtime.Pod) (changed []int, sameOrder bool) {
	if len(prev) != len(next) {
		return buf, false
	}
	start := len(buf)
	for i := range next {
		a, b := &prev[i], &next[i]
		if a.UID != b.UID {
			return buf[:start], false
		}
		if !SameRecords(a, b) {
			buf = append(buf, i)
		}
	}
	return buf, true
}

// SameRecords reports whether two listings of a pod have the same records in the same states and
// the same order. Only IDs and states are compared, because nothing else can change.
func SameRecords(a, b *runtime.Pod) bool {
	if len(a.Sandboxes) != len(b.Sandboxes) || len(a.Containers) != len(b.Containers) {
		return false
	}
	for i := range a.Sandboxes {
		if a.Sandboxes[i].Ready != b.Sandboxes[i].Ready || a.Sandboxes[i].ID != b.Sandboxes[i].ID {
			return false
		}
	}
	for i := range a.Containers {
		if a.Containers[i].State != b.Containers[i].State || a.Containers[i].ID != b.Containers[i].ID {
			return false
		}
	}
	return true
}
