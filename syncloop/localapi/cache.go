package localapi

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/watchcache"
)

// object is an object in a cache. Nothing changes an object after it is in a cache.
type object interface {
	metav1.Object
	k8sruntime.Object
}

// change is one change in a cache.
type change = watchcache.Change[object]

// maxChanges is the number of changes that a cache remembers. A watch from an older version gets an Expired error.
const maxChanges = 1000

// maxHistoryBytes bounds the protobuf size of the objects in the remembered changes. The cache always remembers the
// last change.
const maxHistoryBytes = 16 << 20

// cache holds the objects of one resource and its last changes. It is safe for concurrent use.
type cache struct {
	mu struct {
		sync.Mutex
		*watchcache.Cache[object]
		wake chan struct{}
	}
}

// newCache returns an empty cache that starts at version first. It keeps a limited number and a limited size of
// changes for watches.
func newCache(first uint64) *cache {
	c := &cache{}
	c.mu.Cache = watchcache.New[object](first, maxChanges, nil)
	c.mu.LimitSize(maxHistoryBytes, objectSize)
	c.mu.wake = make(chan struct{})
	return c
}

// objectSize returns the protobuf size of an object in bytes, or 0 if its type has no method Size.
func objectSize(o object) int {
	if sized, ok := o.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// objectKey returns namespace/name, the key by which lists are ordered.
func objectKey(o metav1.Object) string { return namespacedKey(o.GetNamespace(), o.GetName()) }

// namespacedKey joins a namespace and a name, as etcd keys do.
func namespacedKey(namespace, name string) string { return namespace + "/" + name }

// putIfChanged stores an object, sets a new resource version in it, wakes the watchers and returns the object.
// If an equal object with this UID is visible already, it changes nothing and returns that object. If an object
// with another UID has the name, clients see the new object only after the other object is removed.
func (c *cache) putIfChanged(o object) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.mu.Get(namespacedName(o.GetNamespace(), o.GetName())); before != nil && before.GetUID() == o.GetUID() {
		o.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before, o) {
			return before
		}
	}
	c.mu.Set(o)
	c.notifyWatchersLocked()
	return o
}

// removeAndWakeWatchers removes the object with this UID, if it exists. It wakes the watchers in any case.
func (c *cache) removeAndWakeWatchers(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.RemoveUID(uid)
	c.notifyWatchersLocked()
}

// notifyWatchersLocked closes the channel that watchers wait for, and creates the channel for the next change.
func (c *cache) notifyWatchersLocked() {
	close(c.mu.wake)
	c.mu.wake = make(chan struct{})
}

// shownObjectOrNil returns the object that clients see under this name. It returns nil if they see none.
func (c *cache) shownObjectOrNil(namespace, name string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.Get(namespacedName(namespace, name))
}

// hasVisibleOrWaiting reports whether the cache has an object with this UID. The object may be invisible,
// because another object has its name.
func (c *cache) hasVisibleOrWaiting(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.HasUID(uid)
}

// shownObjectsAndVersion returns all objects that clients see, in the order of namespace/name, and the version
// of the cache.
func (c *cache) shownObjectsAndVersion() ([]object, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.List("", acceptAll), c.mu.Version()
}

// acceptAll returns true for any object, so that lists contain all objects.
func acceptAll(object) bool { return true }

// listAt returns the objects as they were at a version. The error is Expired if the cache no longer remembers that
// version.
func (c *cache) listAt(version uint64) ([]object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, ok := c.mu.ListAt(version, "", acceptAll)
	if !ok {
		return nil, c.expiredErrorLocked(version)
	}
	return objects, nil
}

// changesSince returns the changes after a version, the newest version, and a channel that the next change
// closes. The error is Expired if the cache no longer remembers that version.
func (c *cache) changesSince(version uint64) (changes []change, newest uint64, next <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes, ok := c.mu.ChangesSince(version)
	if !ok {
		return nil, 0, nil, c.expiredErrorLocked(version)
	}
	return changes, c.mu.Version(), c.mu.wake, nil
}

// expiredErrorLocked returns the Expired error for a version that the cache does not remember. A version that
// is newer than the cache gets the same error, because an earlier process whose clock was ahead may have issued
// it.
func (c *cache) expiredErrorLocked(version uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, c.mu.Oldest()))
}

// namespacedName joins a namespace and a name.
func namespacedName(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
