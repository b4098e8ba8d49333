package follow

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key is the namespace and name of an object.
type key struct{ namespace, name string }

func objectKey(o metav1.Object) key { return key{o.GetNamespace(), o.GetName()} }

// table holds the objects of a collection in the order of their arrival.
type table[T metav1.Object] struct {
	slots []slot[T]
	index map[key]int
}

// slot holds an object. A removed object leaves an empty slot, because moving all later objects would make each removal
// cost as much as the whole table.
type slot[T metav1.Object] struct {
	object T
	used   bool
}

func newTable[T metav1.Object]() *table[T] { return &table[T]{index: map[key]int{}} }

func (t *table[T]) len() int { return len(t.index) }

// all returns the objects in a new slice.
func (t *table[T]) all() []T {
	items := make([]T, 0, t.len())
	for _, s := range t.slots {
		if s.used {
			items = append(items, s.object)
		}
	}
	return items
}

// get returns the object with a key. ok is false if there is none.
func (t *table[T]) get(k key) (o T, ok bool) {
	i, ok := t.index[k]
	if ok {
		o = t.slots[i].object
	}
	return o, ok
}

// putUnlessSameVersion adds or replaces an object. It returns false and changes nothing if the table has the
// same version of the object already.
func (t *table[T]) putUnlessSameVersion(o T) (changed bool) {
	i, ok := t.index[objectKey(o)]
	switch {
	case !ok:
		t.index[objectKey(o)] = len(t.slots)
		t.slots = append(t.slots, slot[T]{o, true})
	case isSameState(t.slots[i].object, o):
		return false
	default:
		t.slots[i].object = o
	}
	return true
}

// isSameState reports whether two objects with the same name are the same version of the same object.
func isSameState(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion() && b.GetResourceVersion() != ""
}

// removeUnlessNameTakenByOther removes an object. It returns false and removes nothing if the object does not
// exist, or if another object has its name.
func (t *table[T]) removeUnlessNameTakenByOther(o T) (removed bool) {
	i, ok := t.index[objectKey(o)]
	if !ok || t.slots[i].object.GetUID() != o.GetUID() {
		return false
	}
	t.slots[i] = slot[T]{}
	delete(t.index, objectKey(o))
	if len(t.slots) > 2*t.len() {
		t.removeEmptySlots()
	}
	return true
}

// removeEmptySlots removes the unused slots that removed objects have left, and updates the index.
func (t *table[T]) removeEmptySlots() {
	t.slots = slices.DeleteFunc(t.slots, func(s slot[T]) bool { return !s.used })
	for i, s := range t.slots {
		t.index[objectKey(s.object)] = i
	}
}

// reusePointersAndCompare replaces each object that is unchanged since old by its pointer in old. It returns
// true if an object is new, changed or missing.
func (t *table[T]) reusePointersAndCompare(old *table[T]) (changed bool) {
	changed = t.len() != old.len()
	for i, s := range t.slots {
		if before, ok := old.get(objectKey(s.object)); ok && isSameState(before, s.object) {
			t.slots[i].object = before
		} else {
			changed = true
		}
	}
	return changed
}
