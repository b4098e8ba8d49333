package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Extract is what several Sums say of one pod: all that admission may ask about that pod,
// without what the pod takes itself. It does not change with them.
type Extract struct {
	count     int
	requested amounts
	held      []held // the host ports of the pod that others have
	named     []Item // those of the pod's name
	pods      []*v1.Pod
}

type held struct {
	port podspec.HostPort
	by   Item
}

// extract makes it in time that does not depend on how many pods there are, unless it is to
// list the pods. gone are other pods that do not count either.
func extract(item Item, list bool, gone []types.UID, of ...*Sums) *Extract {
	x := &Extract{}
	counts := func(uid types.UID) bool { return uid != item.UID && !slices.Contains(gone, uid) }
	for _, sums := range of {
		x.count += len(sums.items)
		for name, q := range sums.requested {
			x.requested.add(name, q)
		}
		x.without(item.UID, sums)
		for i, uid := range gone {
			if uid != item.UID && !slices.Contains(gone[:i], uid) {
				x.without(uid, sums)
			}
		}
		x.others(item, sums, counts)
		if list {
			x.list(item, gone, sums)
		}
	}
	return x
}

// without takes out what one pod takes.
func (x *Extract) without(uid types.UID, sums *Sums) {
	e := sums.items[uid]
	if e == nil {
		return
	}
	x.count--
	for name, q := range e.Requests {
		q = q.DeepCopy()
		q.Neg()
		x.requested.add(name, q)
	}
}

// others finds the pods that have a host port of the pod, or its name.
func (x *Extract) others(item Item, sums *Sums, counts func(types.UID) bool) {
	for _, port := range item.Ports {
		if holder, taken := sums.holder(port, counts); taken {
			x.held = append(x.held, held{port, holder})
		}
	}
	for _, other := range sums.Named(item.Namespace, item.Name) {
		if counts(other.UID) {
			x.named = append(x.named, other)
		}
	}
}

func (x *Extract) list(item Item, gone []types.UID, sums *Sums) {
	var without []*v1.Pod
	for _, uid := range append([]types.UID{item.UID}, gone...) {
		if e := sums.items[uid]; e != nil {
			without = append(without, e.Pod)
		}
	}
	for _, pod := range sums.Pods() {
		if !slices.Contains(without, pod) {
			x.pods = append(x.pods, pod)
		}
	}
}

// Len implements Taken.
func (x *Extract) Len() int { return x.count }

// Requested implements Taken.
func (x *Extract) Requested(name v1.ResourceName) resource.Quantity {
	if q := x.requested.of(name); q != nil {
		return q.DeepCopy()
	}
	return resource.Quantity{}
}

// Holder implements Taken, for the host ports of the pod.
func (x *Extract) Holder(port podspec.HostPort) (Item, bool) {
	for _, h := range x.held {
		if h.port == port {
			return h.by, true
		}
	}
	return Item{}, false
}

// Named implements Taken, for the name of the pod.
func (x *Extract) Named(namespace, name string) (items []Item) {
	for _, item := range x.named {
		if item.Namespace == namespace && item.Name == name {
			items = append(items, item)
		}
	}
	return items
}

// Pods implements Taken. It has none unless the pods were to be listed.
func (x *Extract) Pods() []*v1.Pod { return x.pods }
