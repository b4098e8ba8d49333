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

// appliedPods are the pods of a Handle, by UID and by name.
type appliedPods struct {
	pods  map[types.UID]placedPod
	names map[types.NamespacedName]types.UID
	last  uint64
}

// placedPod is a pod and its place in the order of first Apply.
type placedPod struct {
	pod   *v1.Pod
	place uint64
}

// newAppliedPods returns an empty set with memory reserved for this number of pods.
func newAppliedPods(pods int) appliedPods {
	return appliedPods{pods: make(map[types.UID]placedPod, pods), names: make(map[types.NamespacedName]types.UID, pods)}
}

// validateAndCopyAll validates and copies the pods of a complete list and returns them as a set. The error
// names every invalid pod and every pod with the UID or name of an earlier one. Those pods are not in the set.
// Pods that the handle owns are not copied.
func (h *Handle) validateAndCopyAll(pods []*v1.Pod) (appliedPods, error) {
	var faults []error
	all := newAppliedPods(len(pods))
	for _, pod := range pods {
		pod, err := h.validateAndCopyUnlessOwned(pod)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		name := namespacedName(pod)
		_, byUID := all.pods[pod.UID]
		_, byName := all.names[name]
		if byUID || byName {
			faults = append(faults, fmt.Errorf("%w: %s (uid %q) has the UID or the name of an earlier pod", ErrInvalid, name, pod.UID))
			continue
		}
		_ = all.setUnlessNameTaken(pod) // The UID and the name are unique, so there is no error.
	}
	return all, errors.Join(faults...)
}

// setUnlessNameTaken adds a pod, or replaces the pod with the same UID, which keeps its place in the order. If
// a pod with another UID has the name, it changes nothing and returns an error.
func (a *appliedPods) setUnlessNameTaken(pod *v1.Pod) error {
	name := namespacedName(pod)
	if other, taken := a.names[name]; taken && other != pod.UID {
		return fmt.Errorf("%w: %s is the name of another pod (uid %q)", ErrInvalid, name, other)
	}
	p, known := a.pods[pod.UID]
	if known {
		delete(a.names, namespacedName(p.pod))
	} else {
		a.last++
		p.place = a.last
	}
	p.pod = pod
	a.pods[pod.UID], a.names[name] = p, pod.UID
	return nil
}

// delete removes the pod with a UID. found is false if the set did not have it.
func (a *appliedPods) delete(uid types.UID) (found bool) {
	p, known := a.pods[uid]
	if known {
		delete(a.pods, uid)
		delete(a.names, namespacedName(p.pod))
	}
	return known
}

// podsInOrderOfAddition returns all pods in the order in which they were added.
func (a *appliedPods) podsInOrderOfAddition() []*v1.Pod {
	all := slices.SortedFunc(maps.Values(a.pods), func(x, y placedPod) int { return cmp.Compare(x.place, y.place) })
	pods := make([]*v1.Pod, 0, len(all))
	for _, p := range all {
		pods = append(pods, p.pod)
	}
	return pods
}

// namespacedName returns the namespace and name of a pod.
func namespacedName(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
