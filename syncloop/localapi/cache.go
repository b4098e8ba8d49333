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

// object is what a cache holds. It is never changed once it is in one.
type object interface {
	metav1.Object
	k8sruntime.Object
}

// change is one version of a cache.
type change = watchcache.Change[object]

// mostChanges is how many changes a cache remembers: a watch from before them is Expired.
const mostChanges = 1000

// mostHistory bounds what the objects of the remembered changes take, in bytes, as they are
// encoded in protobuf. Of the last change the object is remembered in any case.
const mostHistory = 16 << 20

// cache holds the objects of one resource and its last changes. It is safe for concurrent use.
type cache struct {
	mu struct {
		sync.Mutex
		*watchcache.Cache[object]
		wake chan struct{}
	}
}

// newCache makes a cache without objects. first is its version.
func newCache(first uint64) *cache {
	c := &cache{}
	c.mu.Cache = watchcache.New[object](first, mostChanges, nil)
	c.mu.Bound(mostHistory, sizeOf)
	c.mu.wake = make(chan struct{})
	return c
}

// sizeOf is about what an object takes, in bytes.
func sizeOf(o object) int {
	if sized, ok := o.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// keyOf is the key by which objects are ordered, as in etcd.
func keyOf(o metav1.Object) string { return key(o.GetNamespace(), o.GetName()) }

func key(namespace, name string) string { return namespace + "/" + name }

// put adds an object or another state of the one with its UID. It becomes the cache's and gets
// a new resource version. One that does not differ from what is there changes nothing. One
// whose name another object has is there when that one is gone. What is returned is what the
// object is by now.
func (c *cache) put(o object) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.mu.Get(named(o.GetNamespace(), o.GetName())); before != nil && before.GetUID() == o.GetUID() {
		o.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before, o) {
			return before
		}
	}
	c.mu.Set(o)
	c.wakeLocked()
	return o
}

// remove removes the object with this UID, if it is there.
func (c *cache) remove(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.RemoveUID(uid)
	c.wakeLocked()
}

func (c *cache) wakeLocked() {
	close(c.mu.wake)
	c.mu.wake = make(chan struct{})
}

// get returns an object, or nil.
func (c *cache) get(namespace, name string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.Get(named(namespace, name))
}

// has reports whether there is an object of this UID, which may wait for its name.
func (c *cache) has(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.Has(uid)
}

// list returns all objects in order of their keys, and the version that they are of.
func (c *cache) list() ([]object, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.List("", all), c.mu.Version()
}

func all(object) bool { return true }

// listAt returns the objects as they were at a version. The error is Expired for a version
// that is not remembered.
func (c *cache) listAt(version uint64) ([]object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, ok := c.mu.ListAt(version, "", all)
	if !ok {
		return nil, c.expiredLocked(version)
	}
	return objects, nil
}

// since returns the changes after a version, the newest version, and a channel that is closed
// with the next change. The error is Expired for a version that is not remembered.
func (c *cache) since(version uint64) (changes []change, newest uint64, next <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes, ok := c.mu.Since(version)
	if !ok {
		return nil, 0, nil, c.expiredLocked(version)
	}
	return changes, c.mu.Version(), c.mu.wake, nil
}

// expiredLocked is about a version after which not every change is known. One of the future is
// of a time before this process, whose versions began with the clock.
func (c *cache) expiredLocked(version uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, c.mu.Oldest()))
}

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
