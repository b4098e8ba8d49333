package follow

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Change is one of an object, which is new, or is as it is now, or is gone: then it is the
// last state of it.
type Change[T metav1.Object] struct {
	Object T
	Gone   bool
}

// news is what has changed since it was taken. Its zero value is that nothing has.
type news[T metav1.Object] struct {
	whole   bool // more than changes tell
	changes []Change[T]
}

// fewNews is how many changes are kept at least before they are given up.
const fewNews = 64

// note adds a change to a collection of so many objects. Changes that nobody takes are given
// up for the whole, so that they take no more memory than that.
func (n *news[T]) note(c Change[T], objects int) {
	switch {
	case n.whole:
	case len(n.changes) >= max(objects, fewNews):
		*n = news[T]{whole: true}
	default:
		n.changes = append(n.changes, c)
	}
}

// Take returns the changes since it was called last, in the order of the server; false if
// they are not known one by one, and Objects has the answer. The first answer is false.
func (m *Machine[T]) Take() ([]Change[T], bool) {
	taken := m.news
	m.news = news[T]{}
	return taken.changes, !taken.whole
}
