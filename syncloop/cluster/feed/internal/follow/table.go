package follow

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key names an object.
type key struct{ namespace, name string }

func keyOf(o metav1.Object) key { return key{o.GetNamespace(), o.GetName()} }

// table has the objects of a collection, in order of arrival.
type table[T metav1.Object] struct {
	slots []slot[T]
	index map[key]int
}

// slot is the place of an object, which is empty when that was removed: moving all later ones
// would make each removal cost as much as there are.
type slot[T metav1.Object] struct {
	object T
	taken  bool
}

func newTable[T metav1.Object]() *table[T] { return &table[T]{index: map[key]int{}} }

func (t *table[T]) len() int { return len(t.index) }

// all returns the objects, in a slice of the caller's.
func (t *table[T]) all() []T {
	items := make([]T, 0, t.len())
	for _, s := range t.slots {
		if s.taken {
			items = append(items, s.object)
		}
	}
	return items
}

// get returns the object of a name.
func (t *table[T]) get(k key) (o T, ok bool) {
	i, ok := t.index[k]
	if ok {
		o = t.slots[i].object
	}
	return o, ok
}

// put adds or replaces an object, and reports whether that changes anything.
func (t *table[T]) put(o T) bool {
	i, ok := t.index[keyOf(o)]
	switch {
	case !ok:
		t.index[keyOf(o)] = len(t.slots)
		t.slots = append(t.slots, slot[T]{o, true})
	case same(t.slots[i].object, o):
		return false
	default:
		t.slots[i].object = o
	}
	return true
}

// same reports whether two objects of one name are the same state of the same object.
func same(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion() && b.GetResourceVersion() != ""
}

// remove takes out an object, unless another one has its name by now.
func (t *table[T]) remove(o T) bool {
	i, ok := t.index[keyOf(o)]
	if !ok || t.slots[i].object.GetUID() != o.GetUID() {
		return false
	}
	t.slots[i] = slot[T]{}
	delete(t.index, keyOf(o))
	if len(t.slots) > 2*t.len() {
		t.compact()
	}
	return true
}

// compact gives up the empty slots.
func (t *table[T]) compact() {
	t.slots = slices.DeleteFunc(t.slots, func(s slot[T]) bool { return !s.taken })
	for i, s := range t.slots {
		t.index[keyOf(s.object)] = i
	}
}

// adopt keeps the pointers of what is the same in old, and reports whether anything differs.
func (t *table[T]) adopt(old *table[T]) bool {
	changed := t.len() != old.len()
	for i, s := range t.slots {
		if before, ok := old.get(keyOf(s.object)); ok && same(before, s.object) {
			t.slots[i].object = before
		} else {
			changed = true
		}
	}
	return changed
}
