package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RunningState returns the state of a running container, by its record.
func RunningState(rec *runtime.ContainerStatus) v1.ContainerState {
	return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: truncateToSeconds(rec.StartedAt)}}
}

// EndsOnSuccess reports whether the pod has a regular container of that name with restart policy
// OnFailure. For such a container it matters whether this node stopped it: if it then exits with 0,
// it must still run again.
func EndsOnSuccess(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return restartPolicyOf(pod, c) == v1.RestartPolicyOnFailure
		}
	}
	return false
}
