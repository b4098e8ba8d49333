package reconcile

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// ErrUnexpectedRestart is wrapped by the error of CheckRestarts: the status shows a container that has
// ended for good as running or waiting.
var ErrUnexpectedRestart = errors.New("a container that has ended for good is back")

// CheckRestarts reports whether status may follow old. A container that has ended stays so
// unless one of these runs it again: its restart policy, one of its rules, a restart of all
// containers of the pod, or the policy of its pod in a new sandbox. It may also come back if
// its end was not seen. Nil: it may follow. The error names every container of which it may
// not, and wraps ErrUnexpectedRestart.
func CheckRestarts(pod *v1.Pod, old, status *v1.PodStatus) error {
	var faults []error
	check := func(c *v1.Container, place int, before, after *podspec.Index[v1.ContainerStatus], may func(c *v1.Container, was, is *v1.ContainerStatus) bool) {
		was, is := before.Find(c.Name, place), after.Find(c.Name, place)
		if was == nil || is == nil || was.State.Terminated == nil || is.State.Terminated != nil {
			return
		}
		if !may(c, was, is) && !anew(was, is) && !seenAgain(old, was) {
			faults = append(faults, fmt.Errorf("%w: %s", ErrUnexpectedRestart, c.Name))
		}
	}
	byPolicy := func(c *v1.Container, was, is *v1.ContainerStatus) bool {
		code := was.State.Terminated.ExitCode
		return podstatus.MayRestart(pod, c, code) || podstatus.MayRestartInNewSandbox(pod, c, code) && isAnother(was, is)
	}
	before, after := podspec.StatusIndex(old.InitContainerStatuses), podspec.StatusIndex(status.InitContainerStatuses)
	for i := range pod.Spec.InitContainers {
		check(&pod.Spec.InitContainers[i], i, &before, &after,
			func(c *v1.Container, was, is *v1.ContainerStatus) bool {
				return initializesAgain(was, is) || byPolicy(c, was, is) // A sidecar's is Always.
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
			func(*v1.Container, *v1.ContainerStatus, *v1.ContainerStatus) bool { return false }) // They run once.
	}
	return errors.Join(faults...)
}

// seenAgain reports whether the end of a container was one that nobody saw, of a
// pod that is not over: that was a guess, which the runtime may correct.
func seenAgain(old *v1.PodStatus, was *v1.ContainerStatus) bool {
	return was.State.Terminated.Reason == unknownEndReason && !podstatus.IsTerminal(old.Phase)
}

// isAnother reports whether what was said of a container after its end is of another
// attempt, which may be about to be made.
func isAnother(was, is *v1.ContainerStatus) bool {
	return is.State.Waiting != nil || is.RestartCount > was.RestartCount
}

// initializesAgain reports whether an ordinary init container that had succeeded
// is in another attempt: a sandbox that was lost took with it what it had done.
func initializesAgain(was, is *v1.ContainerStatus) bool {
	return was.State.Terminated.ExitCode == 0 && is.RestartCount > was.RestartCount
}

// anew reports whether all containers of the pod begin anew.
func anew(was, is *v1.ContainerStatus) bool {
	last := is.LastTerminationState.Terminated
	return was.State.Terminated.Reason == string(podstatus.ReasonRestartingAllContainers) || last != nil && last.Reason == string(podstatus.ReasonRestartingAllContainers)
}
