package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RunningState is the state of a container that runs, by its record.
func RunningState(rec *runtime.ContainerStatus) v1.ContainerState {
	return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: wholeSeconds(rec.StartedAt)}}
}

// EndsOnSuccess reports whether the pod has a regular container of that name that
// runs again unless it ends with 0, so that it matters whether this node has stopped it.
func EndsOnSuccess(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return policyOf(pod, c) == v1.RestartPolicyOnFailure
		}
	}
	return false
}
