package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// applied are the pods of a Handle.
type applied struct {
	pods  map[types.UID]placed
	names map[types.NamespacedName]types.UID
	last  uint64
}

// placed is a pod and its place in the order of first Apply.
type placed struct {
	pod   *v1.Pod
	place uint64
}

func newApplied(pods int) applied {
	return applied{pods: make(map[types.UID]placed, pods), names: make(map[types.NamespacedName]types.UID, pods)}
}

// allOf are the pods of a host program, checked and copied.
func (h *Handle) allOf(pods []*v1.Pod) (applied, error) {
	var faults []error
	all := newApplied(len(pods))
	for _, pod := range pods {
		pod, err := h.own(pod)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		name := nameOf(pod)
		_, byUID := all.pods[pod.UID]
		_, byName := all.names[name]
		if byUID || byName {
			faults = append(faults, fmt.Errorf("%w: %s (uid %q) is there twice, by UID or by name", ErrInvalid, name, pod.UID))
			continue
		}
		_ = all.put(pod) // Which has the name and the UID for itself.
	}
	return all, errors.Join(faults...)
}

// put takes one more pod, or one in place of that with its UID.
func (a *applied) put(pod *v1.Pod) error {
	name := nameOf(pod)
	if other, taken := a.names[name]; taken && other != pod.UID {
		return fmt.Errorf("%w: %s is the name of another pod (uid %q)", ErrInvalid, name, other)
	}
	p, known := a.pods[pod.UID]
	if known {
		delete(a.names, nameOf(p.pod))
	} else {
		a.last++
		p.place = a.last
	}
	p.pod = pod
	a.pods[pod.UID], a.names[name] = p, pod.UID
	return nil
}

// remove takes out a pod, and reports whether there was one.
func (a *applied) remove(uid types.UID) bool {
	p, known := a.pods[uid]
	if known {
		delete(a.pods, uid)
		delete(a.names, nameOf(p.pod))
	}
	return known
}

// list is all pods in order of first Apply.
func (a *applied) list() []*v1.Pod {
	all := slices.SortedFunc(maps.Values(a.pods), func(x, y placed) int { return cmp.Compare(x.place, y.place) })
	pods := make([]*v1.Pod, 0, len(all))
	for _, p := range all {
		pods = append(pods, p.pod)
	}
	return pods
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
