package plan

import (
	v1 "k8s.io/api/core/v1"
)

// RestartsOnlyOnFailure reports whether the pod has a regular container with this name and restart
// policy OnFailure. If this node stops such a container for its next attempt, and the container
// exits with 0, it must still start again.
func RestartsOnlyOnFailure(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return restartPolicyOf(pod, c) == v1.RestartPolicyOnFailure
		}
	}
	return false
}
