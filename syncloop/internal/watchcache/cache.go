package watchcache

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is an object of a Cache, such as a *v1.Pod. Its zero value means no object.
type Object interface {
	comparable
	metav1.Object
	// DeepCopyObject returns an object of the same type.
	DeepCopyObject() k8sruntime.Object
}

// Cache has the objects of one resource at one version. New makes one.
type Cache[T Object] struct {
	changes ring[T]
	shown   map[types.NamespacedName]T
	// names has the names of all objects, including objects that are not shown.
	names map[types.UID]types.NamespacedName
	// waitingForName are the objects that wait for a name, in order of arrival.
	waitingForName map[types.NamespacedName][]T
}

// New returns a Cache with these objects at this version. It remembers at most size changes. The Cache owns
// the objects.
func New[T Object](version uint64, size int, objects []T) *Cache[T] {
	c := &Cache[T]{
		changes:        ring[T]{begin: version, version: version, size: size},
		shown:          make(map[types.NamespacedName]T, len(objects)),
		names:          make(map[types.UID]types.NamespacedName, len(objects)),
		waitingForName: make(map[types.NamespacedName][]T),
	}
	for _, o := range objects {
		if c.addObject(o) {
			c.setVersion(o)
		}
	}
	return c
}

// Version returns the version of the newest change.
func (c *Cache[T]) Version() uint64 { return c.changes.version }

// LimitSize bounds the total size of the objects in the remembered changes, measured by sizeOf. If the bound
// is exceeded, the oldest changes are dropped until half of it is left, but never the last one. Call it before
// the first change.
func (c *Cache[T]) LimitSize(most int, sizeOf func(T) int) {
	c.changes.maxBytes, c.changes.sizeOf = most, sizeOf
}

// Oldest returns the oldest version after which every change is remembered.
func (c *Cache[T]) Oldest() uint64 { return c.changes.oldestVersion() }

// ChangesSince returns the changes after a version, the oldest first. It returns false if the version is too
// old or in the future.
func (c *Cache[T]) ChangesSince(version uint64) ([]Change[T], bool) {
	return c.changes.changesSince(version)
}

// Get returns the object that is shown under a name.
func (c *Cache[T]) Get(name types.NamespacedName) T { return c.shown[name] }

// HasUID reports whether the cache has an object with this UID, shown or not.
func (c *Cache[T]) HasUID(uid types.UID) bool {
	_, known := c.names[uid]
	return known
}

// List returns the objects of a namespace that match, sorted by namespace and name. The empty namespace means
// all namespaces.
func (c *Cache[T]) List(namespace string, match func(T) bool) []T {
	return listMatching(c.shown, namespace, match)
}

// ListAt returns the result of List at an earlier version. It returns false if not all changes since then are
// remembered.
func (c *Cache[T]) ListAt(version uint64, namespace string, match func(T) bool) ([]T, bool) {
	changes, ok := c.ChangesSince(version)
	if !ok {
		return nil, false
	}
	then, none := maps.Clone(c.shown), *new(T)
	for _, change := range slices.Backward(changes) {
		if change.Before != none {
			then[nameOf(change.Before)] = change.Before
		} else {
			delete(then, nameOf(change.Now))
		}
	}
	return listMatching(then, namespace, match), true
}

// listMatching returns the objects of a namespace that match, sorted by namespace and name. An empty namespace
// means all namespaces.
func listMatching[T Object](all map[types.NamespacedName]T, namespace string, match func(T) bool) []T {
	var objects []T
	for name, o := range all {
		if (namespace == "" || name.Namespace == namespace) && match(o) {
			objects = append(objects, o)
		}
	}
	slices.SortFunc(objects, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// Set adds an object, or replaces the object with its UID. The Cache owns the object and sets its resource
// version.
func (c *Cache[T]) Set(o T) {
	name, known := c.names[o.GetUID()]
	before := c.shown[name]
	switch {
	case known && name != nameOf(o): // For clients, which use names, this is another object.
		c.removeObject(o.GetUID(), name, *new(T))
		c.Set(o)
	case !known:
		if c.addObject(o) {
			c.recordChangeAndSetVersion(Change[T]{Now: o})
		}
	case before.GetUID() != o.GetUID():
		c.waitingForName[name][indexOf(c.waitingForName[name], o.GetUID())] = o
	default:
		c.shown[name] = o
		c.recordChangeAndSetVersion(Change[T]{Before: before, Now: o})
	}
}

// Remove removes the object with the UID of last, which is its last state. The next object that waits for the
// name is shown. It does nothing if there is no such object.
func (c *Cache[T]) Remove(last T) {
	if name, known := c.names[last.GetUID()]; known {
		c.removeObject(last.GetUID(), name, last)
	}
}

// RemoveUID removes an object whose last state is the state that was set last.
func (c *Cache[T]) RemoveUID(uid types.UID) {
	if name, known := c.names[uid]; known {
		c.removeObject(uid, name, *new(T))
	}
}

// addObject adds a new object. It returns true if the object is shown at once. If another object has the same
// name, it returns false, and the new object is shown after the other object is removed.
func (c *Cache[T]) addObject(o T) (shown bool) {
	name := nameOf(o)
	c.names[o.GetUID()] = name
	if c.shown[name] != *new(T) {
		c.waitingForName[name] = append(c.waitingForName[name], o)
		return false
	}
	c.shown[name] = o
	return true
}

// removeObject removes an object, and shows the next object that waits for its name. It records a change for
// each, but none if the removed object was not shown. last is the state that watchers see in the deletion; if
// it is zero or has another name, they see a copy of the shown state.
func (c *Cache[T]) removeObject(uid types.UID, name types.NamespacedName, last T) {
	delete(c.names, uid)
	before := c.shown[name]
	if before.GetUID() != uid {
		c.setWaiting(name, slices.DeleteFunc(c.waitingForName[name], func(o T) bool { return o.GetUID() == uid }))
		return
	}
	delete(c.shown, name)
	if last == *new(T) || nameOf(last) != name {
		last = copyOf(before)
	}
	c.recordChangeAndSetVersion(Change[T]{Before: before, Last: last})
	if waiting := c.waitingForName[name]; len(waiting) > 0 {
		next := waiting[0]
		c.setWaiting(name, slices.Delete(waiting, 0, 1))
		c.shown[name] = next
		c.recordChangeAndSetVersion(Change[T]{Now: next})
	}
}

// setWaiting replaces the list of objects that wait for a name. It deletes an empty list.
func (c *Cache[T]) setWaiting(name types.NamespacedName, objects []T) {
	if len(objects) == 0 {
		delete(c.waitingForName, name)
		return
	}
	c.waitingForName[name] = objects
}

// recordChangeAndSetVersion stores a change with the next version, and sets that version in the new object or in the last
// state of a deleted one.
func (c *Cache[T]) recordChangeAndSetVersion(change Change[T]) {
	c.changes.addChangeAndDropOld(&change)
	for _, o := range [...]T{change.Now, change.Last} {
		if o != *new(T) {
			c.setVersion(o)
		}
	}
}

// setVersion sets the resource version of an object to the current version.
func (c *Cache[T]) setVersion(o T) { o.SetResourceVersion(FormatVersion(c.changes.version)) }

// FormatVersion returns a version as an API server writes it.
func FormatVersion(version uint64) string { return strconv.FormatUint(version, 10) }

func nameOf[T Object](o T) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func indexOf[T Object](objects []T, uid types.UID) int {
	return slices.IndexFunc(objects, func(o T) bool { return o.GetUID() == uid })
}

func copyOf[T Object](o T) T { return o.DeepCopyObject().(T) }
