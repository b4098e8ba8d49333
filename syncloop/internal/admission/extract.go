package admission

import (
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
// list the pods.
func extract(item Item, list bool, of ...*Sums) *Extract {
	x := &Extract{}
	for _, sums := range of {
		own, there := sums.items[item.UID]
		x.count += len(sums.items)
		for name, q := range sums.requested {
			x.requested.add(name, q)
		}
		if there {
			x.count--
			for name, q := range own.Requests {
				q = q.DeepCopy()
				q.Neg()
				x.requested.add(name, q)
			}
		}
		x.others(item, sums)
		if list {
			x.list(item, sums)
		}
	}
	return x
}

// others finds the pods that have a host port of the pod, or its name.
func (x *Extract) others(item Item, sums *Sums) {
	for _, port := range item.Ports {
		if holder, taken := sums.holder(port, func(uid types.UID) bool { return uid != item.UID }); taken {
			x.held = append(x.held, held{port, holder})
		}
	}
	for _, other := range sums.Named(item.Namespace, item.Name) {
		if other.UID != item.UID {
			x.named = append(x.named, other)
		}
	}
}

func (x *Extract) list(item Item, sums *Sums) {
	own, there := sums.items[item.UID]
	for _, pod := range sums.Pods() {
		if !there || pod != own.Pod {
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
