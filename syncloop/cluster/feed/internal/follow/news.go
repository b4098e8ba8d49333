package follow

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Change is a new or changed object, or the last state of a deleted object.
type Change[T metav1.Object] struct {
	Object T
	Gone   bool
}

// changeLog collects the changes since the last Take. The zero value has no changes.
type changeLog[T metav1.Object] struct {
	incomplete bool // the single changes are unknown
	changes    []Change[T]
}

// minKeptChanges is the minimum number of changes that are kept.
const minKeptChanges = 64

// addOrDiscardAllChanges appends a change of a collection that has the given number of objects. If the log has
// as many changes as the collection has objects, and at least minKeptChanges, it discards all changes and marks
// the log as incomplete. The log thus takes no more memory than the collection.
func (n *changeLog[T]) addOrDiscardAllChanges(c Change[T], objects int) {
	switch {
	case n.incomplete:
	case len(n.changes) >= max(objects, minKeptChanges):
		*n = changeLog[T]{incomplete: true}
	default:
		n.changes = append(n.changes, c)
	}
}

// Take returns the changes since its last call, in the order of the server. It returns false if the single changes are
// unknown; then the caller uses Objects. The first call returns false.
func (m *Machine[T]) Take() ([]Change[T], bool) {
	taken := m.changeLog
	m.changeLog = changeLog[T]{}
	return taken.changes, !taken.incomplete
}
