package reconcile

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// ErrUnexpectedRestart is wrapped by the error of CheckRestarts: the status shows a container as
// running or waiting that has terminated for good.
var ErrUnexpectedRestart = errors.New("a container that has terminated for good is shown again")

// CheckRestarts returns an error if status must not follow old. A terminated container stays
// terminated, unless its restart policy, a restart rule, a restart of all containers of the pod, or
// the policy of the pod in a new sandbox starts it again. It may also change if its termination was
// only assumed. The error names every such container and wraps ErrUnexpectedRestart.
func CheckRestarts(pod *v1.Pod, old, status *v1.PodStatus) error {
	var faults []error
	check := func(c *v1.Container, place int, before, after *podspec.Index[v1.ContainerStatus], may func(c *v1.Container, was, is *v1.ContainerStatus) bool) {
		was, is := before.Find(c.Name, place), after.Find(c.Name, place)
		if was == nil || is == nil || was.State.Terminated == nil || is.State.Terminated != nil {
			return
		}
		if !may(c, was, is) && !isRestartOfAll(was, is) && !wasAssumedTermination(old, was) {
			faults = append(faults, fmt.Errorf("%w: %s", ErrUnexpectedRestart, c.Name))
		}
	}
	byPolicy := func(c *v1.Container, was, is *v1.ContainerStatus) bool {
		code := was.State.Terminated.ExitCode
		return podstatus.MayRestart(pod, c, code) || podstatus.MayRestartInNewSandbox(pod, c, code) && isLaterAttempt(was, is)
	}
	before, after := podspec.StatusIndex(old.InitContainerStatuses), podspec.StatusIndex(status.InitContainerStatuses)
	for i := range pod.Spec.InitContainers {
		check(&pod.Spec.InitContainers[i], i, &before, &after,
			func(c *v1.Container, was, is *v1.ContainerStatus) bool {
				return isRerunAfterSuccess(was, is) || byPolicy(c, was, is) // The policy of a sidecar is Always.
			})
	}
	before, after = podspec.StatusIndex(old.ContainerStatuses), podspec.StatusIndex(status.ContainerStatuses)
	for i := range pod.Spec.Containers {
		check(&pod.Spec.Containers[i], i, &before, &after, byPolicy)
	}
	before, after = podspec.StatusIndex(old.EphemeralContainerStatuses), podspec.StatusIndex(status.EphemeralContainerStatuses)
	for i := range pod.Spec.EphemeralContainers {
		c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		check(c, i, &before, &after,
			func(*v1.Container, *v1.ContainerStatus, *v1.ContainerStatus) bool { return false }) // Ephemeral containers run once.
	}
	return errors.Join(faults...)
}

// wasAssumedTermination reports whether the termination in before was only assumed, because the exit was
// unknown, and the pod was not in a terminal phase. The runtime may correct such a termination.
func wasAssumedTermination(old *v1.PodStatus, before *v1.ContainerStatus) bool {
	return before.State.Terminated.Reason == unknownExitReason && !podstatus.IsTerminal(old.Phase)
}

// isLaterAttempt reports whether after, the new status of a container, belongs to a later attempt than before:
// it is waiting, or its restart count is higher.
func isLaterAttempt(before, after *v1.ContainerStatus) bool {
	return after.State.Waiting != nil || after.RestartCount > before.RestartCount
}

// isRerunAfterSuccess reports whether an init container that had exited with 0 has a higher restart count now.
// It runs again because its sandbox was lost.
func isRerunAfterSuccess(before, after *v1.ContainerStatus) bool {
	return before.State.Terminated.ExitCode == 0 && after.RestartCount > before.RestartCount
}

// isRestartOfAll reports whether the container was terminated because all containers of the pod restart. The
// reason may stand in the old state or in the new last termination state.
func isRestartOfAll(before, after *v1.ContainerStatus) bool {
	last := after.LastTerminationState.Terminated
	return before.State.Terminated.Reason == string(podstatus.ReasonRestartingAllContainers) || last != nil && last.Reason == string(podstatus.ReasonRestartingAllContainers)
}
