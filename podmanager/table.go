package podmanager

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nameKey is a full name in its parts, so that a lookup builds no string.
type nameKey struct{ namespace, name string }

func nameKeyOf(pod *v1.Pod) nameKey { return nameKey{pod.Namespace, pod.Name} }

// parseFullName splits a full name at its last underscore; a namespace never
// has one.
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
	// byName has the newest arrival of each name; the others of that name are
	// linked behind it.
	byName      map[nameKey]*entry
	first, last *entry
}

// entry is one pod in a table. It remembers under which name it was put there,
// whatever happens to the pod.
type entry struct {
	pod        *v1.Pod
	key        nameKey
	older      *entry // of the same name
	prev, next *entry // in order of arrival
}

func newPodTable() podTable {
	return podTable{byUID: map[types.UID]*entry{}, byName: map[nameKey]*entry{}}
}

// newestByName is the newest pod of the name, or nil.
func (t *podTable) newestByName(k nameKey) *v1.Pod {
	if e := t.byName[k]; e != nil {
		return e.pod
	}
	return nil
}

// set stores the pod in place of whatever has its UID, and at that one's place
// in the order of arrival.
func (t *podTable) set(pod *v1.Pod) {
	e := t.byUID[pod.UID]
	if e == nil {
		e = &entry{}
		t.byUID[pod.UID] = e
		t.append(e)
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

// remove forgets the UID.
func (t *podTable) remove(uid types.UID) {
	e := t.byUID[uid]
	if e == nil {
		return
	}
	delete(t.byUID, uid)
	t.removeFromName(e)
	t.removeFromOrder(e)
}

// removeFromName takes the entry out of the entries of its name, and only it: if
// another one has the name by now it keeps it, and if an older one is still
// there it has it again.
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

func (t *podTable) append(e *entry) {
	e.prev = t.last
	if t.last != nil {
		t.last.next = e
	} else {
		t.first = e
	}
	t.last = e
}

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

// pods lists all pods in order of arrival.
func (t *podTable) pods() []*v1.Pod {
	all := make([]*v1.Pod, 0, len(t.byUID))
	for e := t.first; e != nil; e = e.next {
		all = append(all, e.pod)
	}
	return all
}
