package localapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// object is what a cache holds. It is never changed once it is in one.
type object interface {
	metav1.Object
	k8sruntime.Object
}

// change is one version of a cache.
type change struct {
	version uint64
	kind    watch.EventType
	// object is the new state. Of a deletion it is the last one, with the version of the
	// deletion.
	object object
	before object // nil for an addition
}

// mostChanges is how many changes a cache remembers: a watch from before them is Expired.
const mostChanges = 1000

// mostHistory bounds what the objects of the remembered changes take, in bytes, as they are
// encoded in protobuf. Of the last change the object is remembered in any case.
const mostHistory = 16 << 20

// cache holds the objects of one resource and its last changes. Each change has a version,
// which is larger than all before it.
type cache struct {
	mu struct {
		sync.Mutex
		version uint64
		lost    uint64 // the newest version whose change is not remembered
		objects map[string]object
		changes []change // in order of their versions
		bytes   int      // of the objects of changes
		wake    chan struct{}
	}
}

// newCache makes a cache without objects. first is its version.
func newCache(first uint64) *cache {
	c := &cache{}
	c.mu.version, c.mu.lost = first, first
	c.mu.objects = map[string]object{}
	c.mu.wake = make(chan struct{})
	return c
}

// keyOf is the key by which objects are ordered, as in etcd.
func keyOf(o metav1.Object) string { return key(o.GetNamespace(), o.GetName()) }

func key(namespace, name string) string { return namespace + "/" + name }

// put adds or replaces an object, which becomes the cache's and gets a new resource version.
// One that does not differ from what is there changes nothing.
func (c *cache) put(o object) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.mu.objects[keyOf(o)]
	ch := change{kind: watch.Added, object: o}
	if before != nil {
		o.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before, o) {
			return before
		}
		ch.kind, ch.before = watch.Modified, before
	}
	c.mu.objects[keyOf(o)] = o
	c.addLocked(ch)
	return o
}

// remove removes an object, if it is there with this UID. An empty UID is any.
func (c *cache) remove(namespace, name, uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.mu.objects[key(namespace, name)]
	if before == nil || uid != "" && string(before.GetUID()) != uid {
		return
	}
	delete(c.mu.objects, key(namespace, name))
	c.addLocked(change{kind: watch.Deleted, object: before.DeepCopyObject().(object), before: before})
}

func (c *cache) addLocked(ch change) {
	c.mu.version++
	ch.version = c.mu.version
	ch.object.SetResourceVersion(strconv.FormatUint(ch.version, 10))
	if len(c.mu.changes) >= 2*mostChanges { // Copied once for many changes.
		c.forgetLocked(len(c.mu.changes) - mostChanges + 1)
	}
	c.mu.changes = append(c.mu.changes, ch)
	if c.mu.bytes += sizeOf(ch.object); c.mu.bytes > mostHistory {
		many, left := 0, c.mu.bytes
		for ; left > mostHistory/2 && many < len(c.mu.changes)-1; many++ {
			left -= sizeOf(c.mu.changes[many].object)
		}
		c.forgetLocked(many)
	}
	close(c.mu.wake)
	c.mu.wake = make(chan struct{})
}

// forgetLocked forgets the oldest changes.
func (c *cache) forgetLocked(many int) {
	for _, ch := range c.mu.changes[:many] {
		c.mu.lost = ch.version
		c.mu.bytes -= sizeOf(ch.object)
	}
	c.mu.changes = slices.Clone(c.mu.changes[many:])
}

// sizeOf is about what an object takes, in bytes.
func sizeOf(o object) int {
	if sized, ok := o.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// get returns an object, or nil.
func (c *cache) get(namespace, name string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.objects[key(namespace, name)]
}

// list returns all objects in order of their keys, and the version that they are of.
func (c *cache) list() ([]object, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sorted(c.mu.objects), c.mu.version
}

// listAt returns the objects as they were at a version. The error is Expired for a version
// that is not remembered.
func (c *cache) listAt(version uint64) ([]object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.knownLocked(version); err != nil {
		return nil, err
	}
	then := maps.Clone(c.mu.objects)
	for _, ch := range slices.Backward(c.mu.changes) {
		if ch.version <= version {
			break
		}
		if then[keyOf(ch.object)] = ch.before; ch.before == nil {
			delete(then, keyOf(ch.object))
		}
	}
	return sorted(then), nil
}

// since returns the changes after a version, the newest version, and a channel that is closed
// with the next change. The error is Expired for a version that is not remembered.
func (c *cache) since(version uint64) (changes []change, newest uint64, next <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.knownLocked(version); err != nil {
		return nil, 0, nil, err
	}
	i, _ := slices.BinarySearchFunc(c.mu.changes, version+1, func(ch change, v uint64) int {
		return int(int64(ch.version - v))
	})
	return slices.Clone(c.mu.changes[i:]), c.mu.version, c.mu.wake, nil
}

// knownLocked is nil for a version from which all changes are known. A version of the future
// is one of a time before this process, which began with the clock.
func (c *cache) knownLocked(version uint64) error {
	if version < c.mu.lost || version > c.mu.version {
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, c.mu.lost))
	}
	return nil
}

func sorted(objects map[string]object) []object {
	all := make([]object, 0, len(objects))
	for _, k := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, objects[k])
	}
	return all
}
