package runtime

import (
	"cmp"
	"slices"
)

// Pod returns the part of a status that ListPods returns. A runtime that stores statuses can build
// its ListPods from it.
func (s *PodStatus) Pod() Pod {
	pod := Pod{UID: s.UID, Name: s.Name, Namespace: s.Namespace}
	for i := range s.Sandboxes {
		pod.Sandboxes = append(pod.Sandboxes, s.Sandboxes[i].Sandbox)
	}
	for i := range s.Containers {
		pod.Containers = append(pod.Containers, s.Containers[i].Container)
	}
	return pod
}

// Sort sorts the records as PodStatus requires: sandboxes by attempt, newest first, and containers
// by name and then by attempt, newest first.
func (s *PodStatus) Sort() {
	slices.SortStableFunc(s.Sandboxes, func(a, b SandboxStatus) int { return cmp.Compare(b.Attempt, a.Attempt) })
	slices.SortStableFunc(s.Containers, func(a, b ContainerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt))
	})
}
