package conditions

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
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

// IsTerminal reports whether a phase is an end.
func IsTerminal(p v1.PodPhase) bool { return p == v1.PodSucceeded || p == v1.PodFailed }

// Terminal is what a condition of readiness is in a terminal phase. [ST-18]
func Terminal(t v1.PodConditionType, phase v1.PodPhase) v1.PodCondition {
	reason := reasonPodFailed
	if phase == v1.PodSucceeded {
		reason = reasonPodCompleted
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason}
}

// Initialized says whether the init containers have done their part: an
// ordinary one has succeeded, a sidecar has started.
func Initialized(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	done := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	switch {
	case s.Phase == v1.PodSucceeded:
		done.Reason = reasonPodCompleted
		return done
	case len(pod.Spec.InitContainers) == 0, AnyRan(s.ContainerStatuses):
		return done
	case noStatuses(s):
		return v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionFalse, Reason: reasonUnknown}
	}
	var c census
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		status := containers.Status(s.InitContainerStatuses, spec.Name, i)
		c.count(spec.Name, status, status != nil && (containers.IsSidecar(spec) && isTrue(status.Started) || !containers.IsSidecar(spec) && status.Ready))
	}
	return c.verdict(v1.PodInitialized, reasonNotInitialized, "incomplete")
}

// ContainersReady says whether all sidecars and regular containers are ready.
func ContainersReady(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	switch {
	case IsTerminal(s.Phase):
		return Terminal(v1.ContainersReady, s.Phase)
	case noStatuses(s):
		return v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse, Reason: reasonUnknown}
	}
	var c census
	for i := range pod.Spec.InitContainers {
		if spec := &pod.Spec.InitContainers[i]; containers.IsSidecar(spec) {
			status := containers.Status(s.InitContainerStatuses, spec.Name, i)
			c.count(spec.Name, status, status != nil && status.Ready)
		}
	}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		status := containers.Status(s.ContainerStatuses, name, i)
		c.count(name, status, status != nil && status.Ready)
	}
	return c.verdict(v1.ContainersReady, reasonNotReady, "unready")
}

// Ready is ContainersReady, as containers gives it, and all readiness gates,
// which others open by conditions of their own. [P12]
func Ready(pod *v1.Pod, others []v1.PodCondition, containers v1.PodCondition) v1.PodCondition {
	ready := containers
	ready.Type = v1.PodReady
	if ready.Status != v1.ConditionTrue {
		return ready
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch c := Find(others, gate.ConditionType); {
		case c == nil:
			closed = append(closed, fmt.Sprintf("readiness gate %q has no condition", gate.ConditionType))
		case c.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the condition of readiness gate %q is %s", gate.ConditionType, c.Status))
		}
	}
	if len(closed) > 0 {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, reasonGatesNotReady, strings.Join(closed, ", ")
	}
	return ready
}

// AnyRan reports whether any of the containers runs or ever ran.
func AnyRan(list []v1.ContainerStatus) bool {
	for i := range list {
		if Ran(&list[i]) {
			return true
		}
	}
	return false
}

// Ran reports whether a container runs or ever ran.
func Ran(s *v1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

// IsTrue reports whether a condition is there and true.
func IsTrue(list []v1.PodCondition, t v1.PodConditionType) bool {
	c := Find(list, t)
	return c != nil && c.Status == v1.ConditionTrue
}

// census names the containers that keep a condition from being true, in the
// order of the spec.
type census struct{ unknown, not []string }

func (c *census) count(name string, status *v1.ContainerStatus, fine bool) {
	switch {
	case status == nil:
		c.unknown = append(c.unknown, name)
	case !fine:
		c.not = append(c.not, name)
	}
}

// verdict is a condition that is true unless there is something to say.
func (c *census) verdict(t v1.PodConditionType, reason, word string) v1.PodCondition {
	var messages []string
	if len(c.unknown) > 0 {
		messages = append(messages, fmt.Sprintf("containers with unknown status: %s", c.unknown))
	}
	if len(c.not) > 0 {
		messages = append(messages, fmt.Sprintf("containers with %s status: %s", word, c.not))
	}
	if len(messages) == 0 {
		return v1.PodCondition{Type: t, Status: v1.ConditionTrue}
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason, Message: strings.Join(messages, ", ")}
}

// noStatuses reports whether nothing is said of any container. [P33]
func noStatuses(s *v1.PodStatus) bool {
	return s.InitContainerStatuses == nil && s.ContainerStatuses == nil
}

// Find is the condition of a type, or nil.
func Find(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }
