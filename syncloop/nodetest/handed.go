package nodetest

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// sharedObjects are pods and statuses that a node has handed out, each with a copy of how it was
// then. All parts of a node share them, and watchers keep them: they must not be modified.
type sharedObjects struct {
	pods     map[*v1.Pod]*v1.Pod
	statuses map[*v1.PodStatus]*v1.PodStatus
}

// maxShared is how many are kept until they are compared.
const maxShared = 256

// recordShared notes what a node has handed out, and compares what it has before.
func (tr *trace) recordShared(pod *v1.Pod, status *v1.PodStatus) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	h := &tr.mu.shared
	if len(h.pods)+len(h.statuses) >= maxShared {
		tr.checkSharedUnchangedLocked()
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

// statusHook is a hook for statuses that notes what it is given, before another hook.
func (tr *trace) statusHook(next func(*v1.Pod, *v1.PodStatus)) func(*v1.Pod, *v1.PodStatus) {
	return func(pod *v1.Pod, status *v1.PodStatus) {
		tr.recordShared(pod, status)
		if next != nil {
			next(pod, status)
		}
	}
}

// checkSharedUnchanged fails the test if something that was handed out is not as it was.
func (tr *trace) checkSharedUnchanged() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.checkSharedUnchangedLocked()
}

func (tr *trace) checkSharedUnchangedLocked() {
	for pod, then := range tr.mu.shared.pods {
		if !reflect.DeepEqual(pod, then) {
			tr.faults.add("the shared object of pod %s/%s was modified after it had been handed out", then.Namespace, then.Name)
		}
	}
	for status, then := range tr.mu.shared.statuses {
		if !reflect.DeepEqual(status, then) {
			tr.faults.add("a shared status was modified after it had been handed out: phase %q, now %q", then.Phase, status.Phase)
		}
	}
	tr.mu.shared = sharedObjects{}
}
