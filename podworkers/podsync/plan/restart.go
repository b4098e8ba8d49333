package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// reasonRestartingAll is the reason of a container that waits, or was stopped, because all
// containers of its pod restart.
const reasonRestartingAll = string(podstatus.ReasonRestartingAllContainers)

// restartPolicyOf returns the restart policy of a container. If the container has none, it returns the policy
// of the pod.
func restartPolicyOf(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// mayRestartAfter reports whether the restart policy allows a start after a published termination. A
// termination because all containers restart always allows it.
func mayRestartAfter(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartingAll || podstatus.MayRestart(pod, c, end.ExitCode)
}

// recordRestartsAll reports whether a record shows an exit that matches a rule with the action
// RestartAllContainers. It returns false for a nil record.
func recordRestartsAll(c *v1.Container, rec *runtime.ContainerStatus) bool {
	return rec != nil && rec.State == runtime.StateExited && podstatus.RestartsAll(c, rec.ExitCode)
}

// shouldStartContainer reports whether a container should be started, given its newest record or nil. A
// container of a deleted pod, or one that runs, should not. An exited one should if its restart policy allows
// it, and any other one should.
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
