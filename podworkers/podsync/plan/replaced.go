package plan

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Replaced has, by name, the IDs of the regular containers that this node has stopped in
// order to start the next attempt: their probe has failed, or their image has changed.
// How they end is no answer of theirs: one that ends with 0 has not succeeded.
type Replaced map[string]string

// Is reports whether a container with an ID, as in a record or a status, was stopped by
// this node.
func (r Replaced) Is(name, id string) bool {
	told := r[name]
	return told != "" && (id == told || strings.HasSuffix(id, "://"+told))
}

// code is the exit code of a container's end that policies are asked about.
func (r Replaced) code(name, id string, code int32) int32 {
	if r.Is(name, id) {
		return exitUnknown
	}
	return code
}

// Running is the state of a container that runs, by its record.
func Running(rec *runtime.ContainerStatus) v1.ContainerState {
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
