package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// MayRestart reports whether the restart policy runs a container again that ended with
// this exit code. The first of the container's restart rules that matches decides, then
// its own policy, then the pod's. Rules count only beside a policy of the container. An
// unset policy of a pod is Always. An ordinary init container that has succeeded runs
// only once, whatever MayRestart says: for it, Always is OnFailure.
func MayRestart(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return policy(string(pod.Spec.RestartPolicy), exitCode)
	}
	if rule := matching(c, exitCode); rule != nil {
		return true // Both actions there are start it again.
	}
	return policy(string(*c.RestartPolicy), exitCode)
}

// MayRestartAfter is MayRestart for the end in a container's status. An end with
// ReasonRestartingAllContainers never keeps a container from running again.
func MayRestartAfter(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == string(ReasonRestartingAllContainers) || MayRestart(pod, c, end.ExitCode)
}

// MayRestartInNewSandbox reports whether a container that ended with this exit code
// starts again when its pod gets another sandbox. There the pod's policy decides beside
// its own: a container whose own policy is Never may have ended with the sandbox, and
// not by itself.
func MayRestartInNewSandbox(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if MayRestart(pod, c, exitCode) {
		return true
	}
	own := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyNever
	return own && policy(string(pod.Spec.RestartPolicy), exitCode)
}

// policy is what the words mean, which pods and containers share.
func policy(word string, exitCode int32) bool {
	switch word {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

// RestartsAll reports whether all containers of the pod start over because this one
// ended with this exit code: its first matching restart rule says so.
func RestartsAll(c *v1.Container, exitCode int32) bool {
	rule := matching(c, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// MayRestartAll reports whether any container of the pod has a restart rule that makes
// all of them start over. Only such a pod has the condition AllContainersRestarting.
func MayRestartAll(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		for i := range c.RestartPolicyRules {
			if c.RestartPolicy != nil && c.RestartPolicyRules[i].Action == v1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}

// matching is the first rule for this code. A rule with an action, an operator
// or a condition that is not known says nothing.
func matching(c *v1.Container, exitCode int32) *v1.ContainerRestartRule {
	if c.RestartPolicy == nil {
		return nil
	}
	for i := range c.RestartPolicyRules {
		rule := &c.RestartPolicyRules[i]
		switch rule.Action {
		case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
			if holds(rule.ExitCodes, exitCode) {
				return rule
			}
		}
	}
	return nil
}

func holds(when *v1.ContainerRestartRuleOnExitCodes, exitCode int32) bool {
	if when == nil {
		return false
	}
	switch when.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return slices.Contains(when.Values, exitCode)
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !slices.Contains(when.Values, exitCode)
	}
	return false
}
