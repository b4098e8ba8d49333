package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// reasonRestartingAll is the reason of a container that waits, or was stopped, because all
// containers of its pod restart.
const reasonRestartingAll = string(podstatus.ReasonRestartingAllContainers)

// restartPolicyOf returns the restart policy of a container, or of its pod if the container has
// none.
func restartPolicyOf(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// mayRestartAfter reports whether a container may start again after a published termination. A
// termination by a restart of all containers always allows it.
func mayRestartAfter(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartingAll || podstatus.MayRestart(pod, c, end.ExitCode)
}

// recordRestartsAll reports whether the exit in a record triggers a restart of all containers of
// the pod.
func recordRestartsAll(c *v1.Container, rec *runtime.ContainerStatus) bool {
	return rec != nil && rec.State == runtime.StateExited && podstatus.RestartsAll(c, rec.ExitCode)
}

// shouldStartContainer reports whether a container is to be started, given its newest record of
// this incarnation.
func shouldStartContainer(pod *v1.Pod, c *v1.Container, rec *runtime.ContainerStatus) bool {
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
