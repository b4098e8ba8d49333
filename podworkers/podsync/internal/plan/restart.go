package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// mayRestart is the restart policy: whether a container that ended with this
// code is run again. An unset policy is Always, as the API defaults it.
func mayRestart(pod *v1.Pod, exitCode int32) bool {
	switch pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return exitCode != 0
	}
	return true
}

// shouldStart reports whether a container that does not run is to be started,
// given its newest record of this life.
func shouldStart(pod *v1.Pod, rec *runtime.ContainerStatus) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	if rec == nil {
		return true
	}
	switch rec.State {
	case runtime.StateRunning:
		return false
	case runtime.StateExited:
		return mayRestart(pod, rec.ExitCode)
	}
	return true
}
