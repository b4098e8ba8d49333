package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// reasonRestartingAll is the reason of a container that waits, or was ended,
// because all containers of its pod begin anew.
const reasonRestartingAll = string(podstatus.ReasonRestartingAllContainers)

// policyOf is the restart policy of a container: its own, or else the pod's.
func policyOf(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// mayRunAgain is podstatus.MayRestart for an end that was published. One that was brought
// about because all containers restart is no reason to stay ended.
func mayRunAgain(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartingAll || podstatus.MayRestart(pod, c, end.ExitCode)
}

// restartsAll reports whether the end of a container, by its record, makes all
// containers of the pod begin anew.
func restartsAll(c *v1.Container, rec *runtime.ContainerStatus) bool {
	return rec != nil && rec.State == runtime.StateExited && podstatus.RestartsAll(c, rec.ExitCode)
}

// shouldStart reports whether a container that does not run is to be started,
// given its newest record of this incarnation.
func shouldStart(pod *v1.Pod, c *v1.Container, rec *runtime.ContainerStatus) bool {
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
		return podstatus.MayRestart(pod, c, rec.ExitCode)
	}
	return true
}
