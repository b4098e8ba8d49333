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
	items []T
	index map[key]int
}

func newTable[T metav1.Object]() *table[T] { return &table[T]{index: map[key]int{}} }

// put adds or replaces an object, and reports whether that changes anything.
func (t *table[T]) put(o T) bool {
	i, ok := t.index[keyOf(o)]
	switch {
	case !ok:
		t.index[keyOf(o)] = len(t.items)
		t.items = append(t.items, o)
	case same(t.items[i], o):
		return false
	default:
		t.items[i] = o
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
	if !ok || t.items[i].GetUID() != o.GetUID() {
		return false
	}
	t.items = slices.Delete(t.items, i, i+1)
	delete(t.index, keyOf(o))
	for j := i; j < len(t.items); j++ {
		t.index[keyOf(t.items[j])] = j
	}
	return true
}

// adopt keeps the pointers of what is the same in old, and reports whether anything differs.
func (t *table[T]) adopt(old *table[T]) bool {
	changed := len(t.items) != len(old.items)
	for i, o := range t.items {
		if j, ok := old.index[keyOf(o)]; ok && same(old.items[j], o) {
			t.items[i] = old.items[j]
		} else {
			changed = true
		}
	}
	return changed
}
