package watchcache

import (
	"cmp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cache is the pods of a node at one version. Make one with New.
type Cache struct {
	changes ring
	shown   map[types.NamespacedName]*v1.Pod
	// names are those of all pods, also of those that are not shown.
	names map[types.UID]types.NamespacedName
	// behind are the pods that wait for a name, in order of arrival.
	behind map[types.NamespacedName][]*v1.Pod
}

// New returns a Cache that holds these pods at this version and remembers at most size
// changes. The pods become the Cache's.
func New(version uint64, size int, pods []*v1.Pod) *Cache {
	c := &Cache{
		changes: ring{begin: version, version: version, size: size},
		shown:   make(map[types.NamespacedName]*v1.Pod, len(pods)),
		names:   make(map[types.UID]types.NamespacedName, len(pods)),
		behind:  make(map[types.NamespacedName][]*v1.Pod),
	}
	for _, pod := range pods {
		if c.enter(pod) {
			c.stamp(pod)
		}
	}
	return c
}

// Version is that of the newest change.
func (c *Cache) Version() uint64 { return c.changes.version }

// Since returns the changes after this version, the oldest first. It reports false if the
// Cache does not know them all: the version is too old, or has not been yet.
func (c *Cache) Since(version uint64) ([]Change, bool) { return c.changes.since(version) }

// Get returns the pod that has this name.
func (c *Cache) Get(name types.NamespacedName) *v1.Pod { return c.shown[name] }

// List returns the pods of a namespace that match, in order of namespace and name. The
// empty namespace stands for all.
func (c *Cache) List(namespace string, match func(*v1.Pod) bool) []*v1.Pod {
	var pods []*v1.Pod
	for name, pod := range c.shown {
		if (namespace == "" || name.Namespace == namespace) && match(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// Set brings a new pod, or another state of the pod with its UID. The pod becomes the
// Cache's, which writes its resource version.
func (c *Cache) Set(pod *v1.Pod) {
	name, known := c.names[pod.UID]
	before := c.shown[name]
	switch {
	case known && name != nameOf(pod): // It is another pod to everybody who knows it by name.
		c.forget(pod.UID, name, nil)
		c.Set(pod)
	case !known:
		if c.enter(pod) {
			c.record(Change{Now: pod})
		}
	case before.UID != pod.UID:
		c.behind[name][indexOf(c.behind[name], pod.UID)] = pod
	default:
		c.shown[name] = pod
		c.record(Change{Before: before, Now: pod})
	}
}

// Remove takes out the pod with the UID of this one, which is its last state. The next one
// that waits for its name takes its place. Nothing happens if the Cache has no such pod.
func (c *Cache) Remove(last *v1.Pod) {
	if name, known := c.names[last.UID]; known {
		c.forget(last.UID, name, last)
	}
}

// enter shows a new pod, unless another one has its name.
func (c *Cache) enter(pod *v1.Pod) bool {
	name := nameOf(pod)
	c.names[pod.UID] = name
	if c.shown[name] != nil {
		c.behind[name] = append(c.behind[name], pod)
		return false
	}
	c.shown[name] = pod
	return true
}

// forget takes out a pod. last is nil if its last state is the one that is shown.
func (c *Cache) forget(uid types.UID, name types.NamespacedName, last *v1.Pod) {
	delete(c.names, uid)
	before := c.shown[name]
	if before.UID != uid {
		c.wait(name, slices.DeleteFunc(c.behind[name], func(p *v1.Pod) bool { return p.UID == uid }))
		return
	}
	delete(c.shown, name)
	if last == nil || nameOf(last) != name {
		last = shallow(before)
	}
	c.record(Change{Before: before, Last: last})
	if waiting := c.behind[name]; len(waiting) > 0 {
		next := waiting[0]
		c.wait(name, slices.Delete(waiting, 0, 1))
		c.shown[name] = next
		c.record(Change{Now: next})
	}
}

// wait replaces the pods that wait for a name.
func (c *Cache) wait(name types.NamespacedName, pods []*v1.Pod) {
	if len(pods) == 0 {
		delete(c.behind, name)
		return
	}
	c.behind[name] = pods
}

// record gives a change the next version.
func (c *Cache) record(change Change) {
	c.changes.add(&change)
	for _, pod := range [...]*v1.Pod{change.Now, change.Last} {
		if pod != nil {
			c.stamp(pod)
		}
	}
}

func (c *Cache) stamp(pod *v1.Pod) { pod.ResourceVersion = Format(c.changes.version) }

// Format is a version as an API server writes it.
func Format(version uint64) string { return strconv.FormatUint(version, 10) }

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func indexOf(pods []*v1.Pod, uid types.UID) int {
	return slices.IndexFunc(pods, func(p *v1.Pod) bool { return p.UID == uid })
}

// shallow is a copy that shares everything but its fields.
func shallow(pod *v1.Pod) *v1.Pod {
	other := *pod
	return &other
}
