package pleg

import (
	"cmp"
	"slices"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Pods implements Generator.
func (p *PLEG) Pods() []runtime.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.pods()
}

// pods is the newest listing, with each pod that was inspected since as that
// inspection has shown it. With a healthy stream of events listings are half a
// minute apart; who compares all pods with what is desired must not go by what
// was true then. The answer is kept until an inspection or a listing completes.
func (t *table) pods() []runtime.Pod {
	if t.newest <= t.listed {
		return t.list
	}
	if t.merged == nil {
		t.merged = t.merge()
	}
	return t.merged
}

func (t *table) merge() []runtime.Pod {
	merged := make([]runtime.Pod, 0, len(t.list)+1)
	for i := range t.list {
		r := t.records[t.list[i].UID]
		switch {
		case r == nil || !t.supersedes(r):
			merged = append(merged, t.list[i])
		case r.index == i && !diff.Empty(r.status): // Once, if it is listed twice.
			merged = append(merged, shallow(r.status))
		}
	}
	listed := len(merged)
	for _, r := range t.records {
		if r.index < 0 && t.supersedes(r) && !diff.Empty(r.status) {
			merged = append(merged, shallow(r.status))
		}
	}
	slices.SortFunc(merged[listed:], func(a, b runtime.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return merged
}

// supersedes: the pod's status was read after the listing had begun. That a
// later inspection has failed takes nothing away from it.
func (t *table) supersedes(r *record) bool { return r.read > t.listed }

// shallow is a pod's status in the form of a listing.
func shallow(status *runtime.PodStatus) runtime.Pod {
	pod := runtime.Pod{UID: status.UID, Name: status.Name, Namespace: status.Namespace}
	for i := range status.Sandboxes {
		pod.Sandboxes = append(pod.Sandboxes, status.Sandboxes[i].Sandbox)
	}
	for i := range status.Containers {
		pod.Containers = append(pod.Containers, status.Containers[i].Container)
	}
	return pod
}
