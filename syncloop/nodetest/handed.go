package nodetest

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// sharedObjects are pods and statuses that a node has passed to a hook, each with a copy from that
// moment. All parts of a node share them, and watchers store them, so they must not be modified.
type sharedObjects struct {
	pods     map[*v1.Pod]*v1.Pod
	statuses map[*v1.PodStatus]*v1.PodStatus
}

// maxShared is the number of objects that are stored before they are compared with their copies.
const maxShared = 256

// recordSharedAndCheckWhenFull stores copies of a pod and a status that the node shares with the test, so that
// a modification can be found later. If maxShared objects are stored, it first checks them for modifications
// and deletes the copies.
func (tr *trace) recordSharedAndCheckWhenFull(pod *v1.Pod, status *v1.PodStatus) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	h := &tr.mu.shared
	if len(h.pods)+len(h.statuses) >= maxShared {
		tr.checkAndClearSharedLocked()
	}
	if h.pods == nil {
		*h = sharedObjects{map[*v1.Pod]*v1.Pod{}, map[*v1.PodStatus]*v1.PodStatus{}}
	}
	if h.pods[pod] == nil {
		h.pods[pod] = pod.DeepCopy()
	}
	if h.statuses[status] == nil {
		h.statuses[status] = status.DeepCopy()
	}
}

// statusHook returns a status hook that stores copies of the pod and the status, so that a modification by the
// test can be found, and then calls next unless next is nil.
func (tr *trace) statusHook(next func(*v1.Pod, *v1.PodStatus)) func(*v1.Pod, *v1.PodStatus) {
	return func(pod *v1.Pod, status *v1.PodStatus) {
		tr.recordSharedAndCheckWhenFull(pod, status)
		if next != nil {
			next(pod, status)
		}
	}
}

// checkAndClearShared adds a fault for each shared pod or status that differs from its stored copy. It then
// deletes all stored copies.
func (tr *trace) checkAndClearShared() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.checkAndClearSharedLocked()
}

// checkAndClearSharedLocked adds a fault for each shared pod or status that differs from its stored copy, and
// then deletes all stored copies. The caller holds the lock of the trace.
func (tr *trace) checkAndClearSharedLocked() {
	for pod, then := range tr.mu.shared.pods {
		if !reflect.DeepEqual(pod, then) {
			tr.faults.formatAndStoreFault("the shared object of pod %s/%s was modified", then.Namespace, then.Name)
		}
	}
	for status, then := range tr.mu.shared.statuses {
		if !reflect.DeepEqual(status, then) {
			tr.faults.formatAndStoreFault("a shared status was modified: phase %q, now %q", then.Phase, status.Phase)
		}
	}
	tr.mu.shared = sharedObjects{}
}
