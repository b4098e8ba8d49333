package podstatus

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// The reasons of the conditions.
const (
	reasonPodCompleted   = "PodCompleted"
	reasonPodFailed      = "PodFailed"
	reasonNotReady       = "ContainersNotReady"
	reasonNotInitialized = "ContainersNotInitialized"
	reasonGatesNotReady  = "ReadinessGatesNotReady"
	reasonUnknown        = "UnknownContainerStatuses"
)

// IsTerminal reports whether a phase is Succeeded or Failed.
func IsTerminal(p v1.PodPhase) bool { return p == v1.PodSucceeded || p == v1.PodFailed }

// TerminalCondition returns the condition Ready or ContainersReady, by its type, of a pod in a
// terminal phase. It is false, and its reason comes from the phase.
func TerminalCondition(t v1.PodConditionType, phase v1.PodPhase) v1.PodCondition {
	reason := reasonPodFailed
	if phase == v1.PodSucceeded {
		reason = reasonPodCompleted
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason}
}

// InitializedCondition returns the condition Initialized. It is true if each ordinary init
// container is Ready, because it has exited with 0, and each sidecar has Started. Once a regular
// container has run it stays true. The caller sets the transition time, as for all conditions of
// this package.
func InitializedCondition(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	done := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	switch {
	case s.Phase == v1.PodSucceeded:
		done.Reason = reasonPodCompleted
		return done
	case len(pod.Spec.InitContainers) == 0, AnyHasRun(s.ContainerStatuses):
		return done
	case hasNilInitAndRegularStatuses(s):
		return v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionFalse, Reason: reasonUnknown}
	}
	var c unmetContainers
	inits := podspec.StatusIndex(s.InitContainerStatuses)
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		status := inits.Find(spec.Name, i)
		c.addContainerUnlessMet(spec.Name, status, status != nil && (podspec.IsSidecar(spec) && isTrue(status.Started) || !podspec.IsSidecar(spec) && status.Ready))
	}
	return c.toCondition(v1.PodInitialized, reasonNotInitialized, "incomplete")
}

// ContainersReadyCondition returns the condition ContainersReady. It is true if all sidecars and
// regular containers are Ready. In a terminal phase it is false, and its reason comes from the
// phase.
func ContainersReadyCondition(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	switch {
	case IsTerminal(s.Phase):
		return TerminalCondition(v1.ContainersReady, s.Phase)
	case hasNilInitAndRegularStatuses(s):
		return v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse, Reason: reasonUnknown}
	}
	var c unmetContainers
	inits, regular := podspec.StatusIndex(s.InitContainerStatuses), podspec.StatusIndex(s.ContainerStatuses)
	for i := range pod.Spec.InitContainers {
		if spec := &pod.Spec.InitContainers[i]; podspec.IsSidecar(spec) {
			status := inits.Find(spec.Name, i)
			c.addContainerUnlessMet(spec.Name, status, status != nil && status.Ready)
		}
	}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		status := regular.Find(name, i)
		c.addContainerUnlessMet(name, status, status != nil && status.Ready)
	}
	return c.toCondition(v1.ContainersReady, reasonNotReady, "unready")
}

// ReadyCondition returns the condition Ready. It is true if containersReady is true and every
// readiness gate of the pod has a true condition in others.
func ReadyCondition(pod *v1.Pod, others []v1.PodCondition, containersReady v1.PodCondition) v1.PodCondition {
	ready := containersReady
	ready.Type = v1.PodReady
	if ready.Status != v1.ConditionTrue {
		return ready
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch c := FindCondition(others, gate.ConditionType); {
		case c == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, c.Status))
		}
	}
	if len(closed) > 0 {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, reasonGatesNotReady, strings.Join(closed, ", ")
	}
	return ready
}

// AnyHasRun reports whether any of the containers runs or has run.
func AnyHasRun(list []v1.ContainerStatus) bool {
	for i := range list {
		if HasRun(&list[i]) {
			return true
		}
	}
	return false
}

// HasRun reports whether a container runs or has run, by its status.
func HasRun(s *v1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

// IsConditionTrue reports whether the condition of a type exists and is true.
func IsConditionTrue(list []v1.PodCondition, t v1.PodConditionType) bool {
	c := FindCondition(list, t)
	return c != nil && c.Status == v1.ConditionTrue
}

// unmetContainers has the names of the containers that keep a condition from being true, in the
// order of the spec.
type unmetContainers struct{ unknown, unmet []string }

// addContainerUnlessMet adds a container to unknown if it has no status. It adds a container to unmet if it has
// a status and isMet is false. With a status and isMet true it adds nothing.
func (c *unmetContainers) addContainerUnlessMet(name string, status *v1.ContainerStatus, isMet bool) {
	switch {
	case status == nil:
		c.unknown = append(c.unknown, name)
	case !isMet:
		c.unmet = append(c.unmet, name)
	}
}

// toCondition returns a condition of type t that is true if no container was added. If it is false, it has the
// reason, and a message that names the containers; adjective describes the unmet ones.
func (c *unmetContainers) toCondition(t v1.PodConditionType, reason, adjective string) v1.PodCondition {
	var messages []string
	if len(c.unknown) > 0 {
		messages = append(messages, fmt.Sprintf("containers with unknown status: %s", c.unknown))
	}
	if len(c.unmet) > 0 {
		messages = append(messages, fmt.Sprintf("containers with %s status: %s", adjective, c.unmet))
	}
	if len(messages) == 0 {
		return v1.PodCondition{Type: t, Status: v1.ConditionTrue}
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason, Message: strings.Join(messages, ", ")}
}

// hasNilInitAndRegularStatuses reports whether the list of init container statuses and the list of regular
// container statuses are both nil (P33).
func hasNilInitAndRegularStatuses(s *v1.PodStatus) bool {
	return s.InitContainerStatuses == nil && s.ContainerStatuses == nil
}

// FindCondition returns a pointer to the condition of a type in the list, or nil.
func FindCondition(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}

// isTrue reports whether b is not nil and true.
func isTrue(b *bool) bool { return b != nil && *b }
