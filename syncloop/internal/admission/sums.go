package admission

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Sums are what several pods take together, at most one item for each UID. The
// zero value has no pods. Each method takes time in proportion to what one pod
// takes, and to how many pods share a host port, or a name.
type Sums struct {
	items     map[types.UID]*entry
	requested map[v1.ResourceName]resource.Quantity
	ports     map[portKey][]*entry // in order of arrival
	names     map[nameKey]*entry   // the first that arrived
	namesakes map[nameKey][]*entry // those after the first, in order of arrival; few names have any
	arrived   uint64
	// list has the pods in order of arrival; nil: it has to be made.
	list []*v1.Pod
}

type entry struct {
	Item
	at uint64 // place in the order of arrival
}

// portKey is what two host ports that conflict have in common.
type portKey struct {
	protocol v1.Protocol
	port     int32
}

type nameKey struct{ namespace, name string }

// Put adds an item. It takes the place of the item of its UID, also in the order
// of arrival.
func (s *Sums) Put(item Item) {
	e := &entry{Item: item, at: s.arrived + 1}
	if old := s.items[item.UID]; old != nil {
		e.at = old.at
		s.Remove(item.UID)
	}
	s.put(e)
}

// put adds an entry, whose UID is not there, at its place in the order of arrival. It is
// not changed any more: several Sums may share it.
func (s *Sums) put(e *entry) {
	if s.items == nil {
		s.items = make(map[types.UID]*entry)
		s.requested = make(map[v1.ResourceName]resource.Quantity)
		s.ports = make(map[portKey][]*entry)
		s.names = make(map[nameKey]*entry)
		s.namesakes = make(map[nameKey][]*entry)
	}
	s.items[e.UID] = e
	switch {
	case e.at <= s.arrived:
		s.list = nil
	case s.list != nil:
		s.list = append(s.list, e.Pod) // Nobody who has a part of it sees more.
	}
	s.arrived = max(s.arrived, e.at)
	for name, q := range e.Requests {
		have := s.requested[name] // Of a list of its own: the addition is in place.
		have.Add(q)
		s.requested[name] = have
	}
	for _, port := range e.Ports {
		k := portKey{port.Protocol, port.Port}
		s.ports[k] = insert(s.ports[k], e)
	}
	s.name(e)
}

// name counts an entry among those of its name.
func (s *Sums) name(e *entry) {
	k := nameKey{e.Namespace, e.Name}
	first := s.names[k]
	switch {
	case first == nil || first == e:
		s.names[k] = e
	case byArrival(e, first) < 0:
		s.names[k] = e
		s.namesakes[k] = insert(s.namesakes[k], first)
	default:
		s.namesakes[k] = insert(s.namesakes[k], e)
	}
}

// unname takes an entry out of those of its name.
func (s *Sums) unname(e *entry) {
	k := nameKey{e.Namespace, e.Name}
	next := e
	if s.names[k] == e {
		if len(s.namesakes[k]) == 0 {
			delete(s.names, k)
			return
		}
		next = s.namesakes[k][0]
		s.names[k] = next
	}
	remove(s.namesakes, k, next)
}

// Remove takes an item out and returns it; false if there is none.
func (s *Sums) Remove(uid types.UID) (Item, bool) {
	e := s.items[uid]
	if e == nil {
		return Item{}, false
	}
	delete(s.items, uid)
	s.list = nil
	for name, q := range e.Requests {
		have := s.requested[name]
		have.Sub(q)
		s.requested[name] = have
		if have.IsZero() {
			delete(s.requested, name)
		}
	}
	for _, port := range e.Ports {
		remove(s.ports, portKey{port.Protocol, port.Port}, e)
	}
	s.unname(e)
	return e.Item, true
}

// Get finds the item of a UID.
func (s *Sums) Get(uid types.UID) (Item, bool) {
	if e := s.items[uid]; e != nil {
		return e.Item, true
	}
	return Item{}, false
}

// Len is how many items there are.
func (s *Sums) Len() int { return len(s.items) }

// UIDs returns those of all items, in order of arrival.
func (s *Sums) UIDs() []types.UID {
	uids := make([]types.UID, 0, len(s.items))
	for _, e := range s.inOrder() {
		uids = append(uids, e.UID)
	}
	return uids
}

// Pods lists those of all items in order of arrival. It is shared, and only read. It
// is made anew only if pods have gone since the last call.
func (s *Sums) Pods() []*v1.Pod {
	if s.list == nil {
		s.list = make([]*v1.Pod, 0, len(s.items))
		for _, e := range s.inOrder() {
			s.list = append(s.list, e.Pod)
		}
	}
	return slices.Clip(s.list)
}

func (s *Sums) inOrder() []*entry {
	entries := make([]*entry, 0, len(s.items))
	for _, e := range s.items {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, byArrival)
	return entries
}

func byArrival(a, b *entry) int { return cmp.Compare(a.at, b.at) }

// Requested is what all items request of a resource.
func (s *Sums) Requested(name v1.ResourceName) resource.Quantity {
	q := s.requested[name]
	return q.DeepCopy()
}

// Holder finds the item that arrived first of those whose host ports conflict
// with this one.
func (s *Sums) Holder(port podspec.HostPort) (Item, bool) {
	return s.holder(port, func(types.UID) bool { return true })
}

// holder is Holder for the items that count.
func (s *Sums) holder(port podspec.HostPort, counts func(types.UID) bool) (Item, bool) {
	for _, e := range s.ports[portKey{port.Protocol, port.Port}] {
		for _, held := range e.Ports {
			if held.Conflicts(port) && counts(e.UID) {
				return e.Item, true
			}
		}
	}
	return Item{}, false
}

// Named lists the items of a name, in order of arrival. The list is the caller's.
func (s *Sums) Named(namespace, name string) []Item {
	k := nameKey{namespace, name}
	first := s.names[k]
	if first == nil {
		return nil
	}
	items := []Item{first.Item}
	for _, e := range s.namesakes[k] {
		items = append(items, e.Item)
	}
	return items
}

// insert keeps the order of arrival; an entry is in a list once.
func insert(list []*entry, e *entry) []*entry {
	i, found := slices.BinarySearchFunc(list, e, byArrival)
	if found {
		return list
	}
	return slices.Insert(list, i, e)
}

func remove[K comparable](lists map[K][]*entry, k K, e *entry) {
	list := lists[k]
	for i := range list {
		if list[i] == e {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(lists, k)
		return
	}
	lists[k] = list
}
