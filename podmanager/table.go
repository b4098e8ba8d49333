package podmanager

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nameKey is a full name in two parts, so that a lookup builds no string.
type nameKey struct{ namespace, name string }

// nameKeyOf returns the namespace and name of a pod as a key.
func nameKeyOf(pod *v1.Pod) nameKey { return nameKey{pod.Namespace, pod.Name} }

// parseFullName splits a full name (name_namespace) at its last underscore, because a namespace never has one.
// It returns false if there is no underscore.
func parseFullName(fullName string) (nameKey, bool) {
	i := strings.LastIndexByte(fullName, '_')
	if i < 0 {
		return nameKey{}, false
	}
	return nameKey{namespace: fullName[i+1:], name: fullName[:i]}, true
}

// podTable holds pods of one kind by UID, by name and in order of arrival.
type podTable struct {
	byUID map[types.UID]*entry
	// byName has the newest arrival of each name. entry.older links the others of that name.
	byName      map[nameKey]*entry
	first, last *entry
}

// entry is one pod in a table. Its key stays the name with which the pod was stored.
type entry struct {
	pod        *v1.Pod
	key        nameKey
	older      *entry // of the same name
	prev, next *entry // in order of arrival
}

// newPodTable returns an empty table.
func newPodTable() podTable {
	return podTable{byUID: map[types.UID]*entry{}, byName: map[nameKey]*entry{}}
}

// lastArrivedByName returns the pod that was stored last under this namespace and name, or nil.
func (t *podTable) lastArrivedByName(k nameKey) *v1.Pod {
	if e := t.byName[k]; e != nil {
		return e.pod
	}
	return nil
}

// setPod stores the pod. It replaces a pod with the same UID, which keeps its place in the order of arrival. If
// several UIDs have one namespace and name, a pod that is new under that name counts as the last arrived.
func (t *podTable) setPod(pod *v1.Pod) {
	e := t.byUID[pod.UID]
	if e == nil {
		e = &entry{}
		t.byUID[pod.UID] = e
		t.appendToOrder(e)
	} else if e.key != nameKeyOf(pod) {
		t.removeFromName(e)
	} else {
		e.pod = pod
		return
	}
	e.pod, e.key = pod, nameKeyOf(pod)
	e.older = t.byName[e.key]
	t.byName[e.key] = e
}

// removePod removes the pod with a UID. If the table has no such pod, it does nothing.
func (t *podTable) removePod(uid types.UID) {
	e := t.byUID[uid]
	if e == nil {
		return
	}
	delete(t.byUID, uid)
	t.removeFromName(e)
	t.removeFromOrder(e)
}

// removeFromName removes the entry from the list of pods with its namespace and name. If the entry was the last
// to arrive, the entry that arrived before it takes its place.
func (t *podTable) removeFromName(e *entry) {
	newest := t.byName[e.key]
	switch {
	case newest != e:
		for newest.older != e {
			newest = newest.older
		}
		newest.older = e.older
	case e.older != nil:
		t.byName[e.key] = e.older
	default:
		delete(t.byName, e.key)
	}
}

// appendToOrder adds an entry at the end of the order of arrival.
func (t *podTable) appendToOrder(e *entry) {
	e.prev = t.last
	if t.last != nil {
		t.last.next = e
	} else {
		t.first = e
	}
	t.last = e
}

// removeFromOrder removes an entry from the order of arrival.
func (t *podTable) removeFromOrder(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		t.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		t.last = e.prev
	}
}

// podsInOrderOfArrival returns all pods of the table in the order in which they arrived.
func (t *podTable) podsInOrderOfArrival() []*v1.Pod {
	all := make([]*v1.Pod, 0, len(t.byUID))
	for e := t.first; e != nil; e = e.next {
		all = append(all, e.pod)
	}
	return all
}
