package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// amounts are how much is requested of some resources, of few kinds.
type amounts []amount

type amount struct {
	name v1.ResourceName
	resource.Quantity
}

func amountsOf(list v1.ResourceList) amounts {
	all := make(amounts, 0, len(list))
	for name, q := range list {
		all = append(all, amount{name, q.DeepCopy()})
	}
	return all
}

// of is the amount of a resource; nil: there is none.
func (a amounts) of(name v1.ResourceName) *resource.Quantity {
	for i := range a {
		if a[i].name == name {
			return &a[i].Quantity
		}
	}
	return nil
}

func (a *amounts) add(name v1.ResourceName, q resource.Quantity) {
	if have := a.of(name); have != nil {
		have.Add(q)
		return
	}
	*a = append(*a, amount{name, q.DeepCopy()})
}

// sub takes amounts out that were added.
func (a amounts) sub(others amounts) {
	for i := range others {
		a.of(others[i].name).Sub(others[i].Quantity)
	}
}

// before are the pods of a Queue that stay, and those that wait before a place: the sums of
// all, without what waits from that place on. No pod has to be taken out for a question.
type before struct {
	queue *Queue
	place int
	all   int     // how many wait
	after amounts // what is requested from that place on
}

// before are those before a place.
func (l *Queue) before(place int) *before {
	b := &before{queue: l, place: place, all: len(l.waiting)}
	if place == b.all {
		return b
	}
	for i, w := range l.waiting {
		w.at = i
		if i >= place {
			for j := range w.requests {
				b.after.add(w.requests[j].name, w.requests[j].Quantity)
			}
		}
	}
	return b
}

// has reports whether a pod is one of them, which stays or waits.
func (b *before) has(uid types.UID) bool {
	w := b.queue.waits[uid]
	return w == nil || b.place == b.all || w.at < b.place
}

// Len implements Taken.
func (b *before) Len() int { return b.queue.staying.Len() - (b.all - b.place) }

// Requested implements Taken.
func (b *before) Requested(name v1.ResourceName) resource.Quantity {
	q := b.queue.staying.Requested(name)
	if after := b.after.of(name); after != nil {
		q.Sub(*after)
	}
	return q
}

// Holder implements Taken.
func (b *before) Holder(port podspec.HostPort) (Item, bool) {
	return b.queue.staying.holder(port, b.has)
}

// Named implements Taken.
func (b *before) Named(namespace, name string) []Item {
	return slices.DeleteFunc(b.queue.staying.Named(namespace, name), func(item Item) bool { return !b.has(item.UID) })
}

// Pods implements Taken.
func (b *before) Pods() []*v1.Pod {
	if b.place == b.all {
		return b.queue.staying.Pods()
	}
	var pods []*v1.Pod
	for _, pod := range b.queue.staying.Pods() {
		if b.has(pod.UID) {
			pods = append(pods, pod)
		}
	}
	return pods
}
