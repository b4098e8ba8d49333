package merge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrForeignUID is the fault of a pod whose UID belongs to another pod: a pod of another source has
// the UID, or the node has records or volumes of the UID that belong to a pod of another name.
var ErrForeignUID = errors.New("the UID belongs to another pod")

// Owners maps a UID to the name of the pod that records of the runtime, or kept volumes, belong to.
type Owners map[types.UID]types.NamespacedName

// SourceChanges are the Changes of one source.
type SourceChanges struct {
	Source string
	Changes
}

// Refused is a pod that is not delivered, because its UID belongs to another pod.
type Refused struct {
	Source string
	Pod    *v1.Pod
	// Other is the source of the pod that the UID belongs to; empty if only Owners has
	// that pod. OtherPod is its name.
	Other    string
	OtherPod types.NamespacedName
	Err      error
	Since    time.Time
}

// Claims gives each UID to one source at a time. The source that delivered a pod of a UID first
// keeps the UID until it removes the pod. A pod of another source under that UID is refused, and
// is added when the UID is free. A Claims is not safe for concurrent use. The zero value has no
// claim.
//
// Filter costs time in proportion to the changes and the refused pods.
type Claims struct {
	holders map[types.UID]holder
	refused map[types.UID][]Refused // in the order of their sources' ranks
}

// holder is the source that has a UID, and its pod.
type holder struct {
	source string
	name   types.NamespacedName
}

// Refused returns the refused pods in order of UID and source. The slice is the caller's.
func (c *Claims) Refused() (all []Refused) {
	for _, of := range c.refused {
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(a.Pod.UID, b.Pod.UID), cmp.Compare(a.Source, b.Source))
	})
	return all
}

// UIDs returns the UIDs whose owners Filter needs: the UIDs of added and refused pods that no source
// holds, or whose holder has removed its pod. A UID may come twice.
func (c *Claims) UIDs(changes []SourceChanges) (uids []types.UID) {
	removed := map[types.UID]bool{}
	for i := range changes {
		for _, pod := range changes[i].Remove {
			removed[pod.UID] = true
		}
	}
	add := func(uid types.UID) {
		if _, held := c.holders[uid]; !held || removed[uid] {
			uids = append(uids, uid)
		}
	}
	for i := range changes {
		for _, pod := range changes[i].Add {
			add(pod.UID)
		}
	}
	for uid := range c.refused {
		add(uid)
	}
	return uids
}

// Filter takes the refused pods out of the changes. changes has the changes of all sources, in the
// order of their ranks. If two pods are added under one UID at once, the first one is delivered;
// the owner of the UID goes before all others. Filter returns the pods that must be added after all
// other changes, because their UIDs have become free, and the pods that were not refused before.
// owners has the owners of UIDs.
//
// complete means that all sources have delivered all of their pods. Before that, Filter refuses a
// new pod whose UID has an owner of another name: the source of the owner may only be late.
func (c *Claims) Filter(changes []SourceChanges, owners Owners, complete bool, now time.Time) (late []SourceChanges, fresh []Refused) {
	if c.holders == nil {
		c.holders, c.refused = map[types.UID]holder{}, map[types.UID][]Refused{}
	}
	f := filter{Claims: c, owners: owners, complete: complete, now: now, before: map[types.UID][]Refused{}, freed: map[types.UID]holder{}}
	for i := range changes {
		f.freeUIDsAndDropRefusedRemovals(&changes[i])
	}
	f.assignUIDsOrRefuseAdded(changes)
	for i := range changes {
		f.moveUpdatesToRefused(&changes[i])
	}
	late = f.addRefusedWithFreeUIDs(changes)
	for uid, before := range f.before {
		for _, r := range c.refused[uid] {
			if !slices.ContainsFunc(before, func(b Refused) bool { return b.Source == r.Source && b.Err.Error() == r.Err.Error() }) {
				fresh = append(fresh, r)
			}
		}
	}
	slices.SortFunc(fresh, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return late, fresh
}

// filter is one call of Filter.
type filter struct {
	*Claims
	owners   Owners
	complete bool
	now      time.Time
	before   map[types.UID][]Refused // the refused pods before this call, for each UID that it has visited
	freed    map[types.UID]holder    // the UIDs whose holders have removed their pods
}

// saveRefusedBeforeChange copies the refused pods of a UID to f.before, unless this call of Filter has copied
// them already. At its end Filter compares both to find the newly refused pods.
func (f *filter) saveRefusedBeforeChange(uid types.UID) {
	if _, noted := f.before[uid]; !noted {
		f.before[uid] = slices.Clone(f.refused[uid])
	}
}

// freeUIDsAndDropRefusedRemovals frees the UIDs of the pods that a source has removed, unless the same changes
// add the UID again. A removal of a refused pod is dropped from the changes, because the pod was never
// delivered; the pod is then no longer refused.
func (f *filter) freeUIDsAndDropRefusedRemovals(c *SourceChanges) {
	again := make(map[types.UID]bool, len(c.Add))
	for _, pod := range c.Add {
		again[pod.UID] = true
	}
	c.Remove = slices.DeleteFunc(c.Remove, func(pod *v1.Pod) bool {
		if f.holders[pod.UID].source != c.Source {
			f.removeRefused(pod.UID, c.Source)
			return true
		}
		if !again[pod.UID] {
			f.freed[pod.UID] = f.holders[pod.UID]
			delete(f.holders, pod.UID)
		}
		return false
	})
}

// removeRefused removes a source's pod under a UID from the refused pods.
func (f *filter) removeRefused(uid types.UID, source string) {
	f.saveRefusedBeforeChange(uid)
	f.refused[uid] = slices.DeleteFunc(f.refused[uid], func(r Refused) bool { return r.Source == source })
	if len(f.refused[uid]) == 0 {
		delete(f.refused, uid)
	}
}

// assignUIDsOrRefuseAdded assigns each free UID to one of the sources that add a pod with it. It prefers a pod
// whose data the node already has. Without such a pod it takes the first source whose pod may have the UID. It
// removes the other added pods with that UID from the changes and stores them as refused.
func (f *filter) assignUIDsOrRefuseAdded(changes []SourceChanges) {
	for i := range changes {
		for _, pod := range changes[i].Add {
			if f.isUIDFree(pod.UID) && f.isOwnerOfDataOnNode(pod) {
				f.holders[pod.UID] = holder{changes[i].Source, nameOf(pod)}
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		c.Add = slices.DeleteFunc(c.Add, func(pod *v1.Pod) bool {
			if f.isUIDFree(pod.UID) && f.mayTakeUIDThatNoSourceHolds(pod) {
				f.holders[pod.UID] = holder{c.Source, nameOf(pod)}
			}
			if f.holders[pod.UID].source == c.Source {
				f.holders[pod.UID] = holder{c.Source, nameOf(pod)}
				return false
			}
			f.storeRefusedPod(c.Source, pod)
			return true
		})
	}
}

// isUIDFree reports whether a source may get a UID now: no source holds it, and none has freed it in the same
// changes. A freed UID can be assigned after the removal is delivered.
func (f *filter) isUIDFree(uid types.UID) bool {
	_, held := f.holders[uid]
	_, freed := f.freed[uid]
	return !held && !freed
}

// isOwnerOfDataOnNode reports whether the containers or volumes that the node has under the pod's UID belong to
// a pod with this namespace and name.
func (f *filter) isOwnerOfDataOnNode(pod *v1.Pod) bool {
	owner, known := f.owners[pod.UID]
	return known && owner == nameOf(pod)
}

// mayTakeUIDThatNoSourceHolds reports whether a pod may have a UID that no source holds. It returns false if
// both conditions hold: some source has not delivered all its pods, and the node has containers or volumes of
// another pod under that UID. In any other case it returns true.
func (f *filter) mayTakeUIDThatNoSourceHolds(pod *v1.Pod) bool {
	if f.complete {
		return true
	}
	owner, known := f.owners[pod.UID]
	return !known || owner == nameOf(pod)
}

// storeRefusedPod stores a pod as refused until its UID is free. If the source already has a refused pod under
// that UID, the new pod replaces the older one. It keeps the time since when the older pod is refused.
func (f *filter) storeRefusedPod(source string, pod *v1.Pod) {
	f.saveRefusedBeforeChange(pod.UID)
	r := Refused{Source: source, Pod: pod, Since: f.now}
	all := f.refused[pod.UID]
	if i := slices.IndexFunc(all, func(r Refused) bool { return r.Source == source }); i >= 0 {
		r.Since = all[i].Since
		all[i] = r
		return
	}
	f.refused[pod.UID] = append(all, r)
}

// moveUpdatesToRefused removes updates, deletions and status changes of refused pods from the changes, and
// stores the newest version of each of these pods as refused.
func (f *filter) moveUpdatesToRefused(c *SourceChanges) {
	for _, pods := range [...]*[]*v1.Pod{&c.Update, &c.Delete, &c.Reconcile} {
		*pods = slices.DeleteFunc(*pods, func(pod *v1.Pod) bool {
			if f.holders[pod.UID].source == c.Source {
				return false
			}
			f.storeRefusedPod(c.Source, pod)
			return true
		})
	}
}

// addRefusedWithFreeUIDs returns, as additions per source, the refused pods whose UIDs are free now. These pods
// are no longer refused, and their sources hold the UIDs. For each pod that stays refused it sets the error.
func (f *filter) addRefusedWithFreeUIDs(changes []SourceChanges) (late []SourceChanges) {
	uids := make([]types.UID, 0, len(f.refused))
	for uid := range f.refused {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	added := map[string][]*v1.Pod{}
	for _, uid := range uids {
		f.saveRefusedBeforeChange(uid)
		if _, held := f.holders[uid]; !held {
			if i := f.indexOfNextRefused(uid, changes); i >= 0 {
				r := f.refused[uid][i]
				f.holders[uid] = holder{r.Source, nameOf(r.Pod)}
				added[r.Source] = append(added[r.Source], r.Pod)
				f.removeRefused(uid, r.Source)
			}
		}
		for i := range f.refused[uid] {
			f.setRefusalReason(&f.refused[uid][i])
		}
	}
	for i := range changes {
		if pods := added[changes[i].Source]; len(pods) > 0 {
			late = append(late, SourceChanges{changes[i].Source, Changes{Add: pods}})
		}
	}
	return late
}

// indexOfNextRefused chooses one of the pods that were refused for a UID that is free now, and returns its
// index. It prefers a pod whose data the node already has. Without such a pod it takes the first pod, in the
// order of the sources, that may have the UID. It returns -1 if none may.
func (f *filter) indexOfNextRefused(uid types.UID, changes []SourceChanges) int {
	all := f.refused[uid]
	if i := slices.IndexFunc(all, func(r Refused) bool { return f.isOwnerOfDataOnNode(r.Pod) }); i >= 0 {
		return i
	}
	_, freed := f.freed[uid]
	for _, c := range changes {
		i := slices.IndexFunc(all, func(r Refused) bool { return r.Source == c.Source })
		if i >= 0 && (freed || f.mayTakeUIDThatNoSourceHolds(all[i].Pod)) {
			return i
		}
	}
	return -1
}

// setRefusalReason sets the error of a refused pod, and the pod that has its UID: the pod of another source or,
// if no source holds the UID, the pod that the node has data of.
func (f *filter) setRefusalReason(r *Refused) {
	name := nameOf(r.Pod)
	if h, held := f.holders[r.Pod.UID]; held {
		r.Other, r.OtherPod = h.source, h.name
		r.Err = fmt.Errorf("%w: pod %s of source %s has the UID %q of pod %s of source %s, and is not run until that pod is removed",
			ErrForeignUID, name, r.Source, r.Pod.UID, h.name, h.source)
		return
	}
	r.Other = ""
	r.OtherPod = f.owners[r.Pod.UID]
	r.Err = fmt.Errorf("%w: pod %s of source %s has the UID %q of pod %s, which this node has records or volumes of, and is not run until every source has delivered its pods",
		ErrForeignUID, name, r.Source, r.Pod.UID, r.OtherPod)
}

// nameOf returns the namespace and name of a pod.
func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
