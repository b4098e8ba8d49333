package diff

import (
	"slices"
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

// State is what the event table knows of a record.
type State uint8

// The states of the table.
const (
	// Absent: there is no such record.
	Absent State = iota
	// Unknown: created, or in a state that we have no word for.
	Unknown
	// Running: it runs; of a sandbox, it is ready.
	Running
	// Exited: it has ended; of a sandbox, it is not ready.
	Exited
)

// String is the state's name for transcripts.
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

// Item is one sandbox or container: the table treats them alike.
type Item struct {
	ID    string
	State State
}

// Items appends the records of a status, sorted by ID and without doubles.
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
	return distinct(buf, start)
}

// ListedItems is Items for a pod as a listing shows it.
func ListedItems(buf []Item, pod *runtime.Pod) []Item {
	start := len(buf)
	for i := range pod.Sandboxes {
		buf = append(buf, sandboxItem(&pod.Sandboxes[i]))
	}
	for i := range pod.Containers {
		buf = append(buf, containerItem(&pod.Containers[i]))
	}
	return distinct(buf, start)
}

func sandboxItem(s *runtime.Sandbox) Item {
	if s.Ready {
		return Item{s.ID, Running}
	}
	return Item{s.ID, Exited}
}

func containerItem(c *runtime.Container) Item {
	switch c.State {
	case runtime.StateRunning:
		return Item{c.ID, Running}
	case runtime.StateExited:
		return Item{c.ID, Exited}
	}
	return Item{c.ID, Unknown}
}

// distinct sorts what was appended from start on and drops doubled IDs. Of a
// record that is shown twice the later state counts: there is no way back.
func distinct(items []Item, start int) []Item {
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

// Lists compares two listings place by place. It appends to buf the places of
// next whose pod differs; aligned is false, and nothing is appended, if the
// two do not hold the same UIDs in the same places.
//
// This is what a relist with nothing new costs: it allocates nothing, and
// strings that are shared between the listings are equal by their pointers.
func Lists(buf []int, prev, next []runtime.Pod) (changed []int, aligned bool) {
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

// SameRecords reports whether two listings of a pod show the same records in
// the same states and the same order. Only what can change is compared: an ID
// stands for the rest.
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
