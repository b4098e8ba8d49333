package diff

import "github.com/podkeel/podkeel/runtime"

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
