package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// MayRestart reports whether a container may restart after an exit code. The first matching restart
// rule of the container decides, then its restart policy, then the policy of the pod. Restart rules
// need a policy of the container. A pod without a policy has Always. An ordinary init container
// that has succeeded never restarts: for it, treat Always as OnFailure.
func MayRestart(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return policyAllowsRestart(string(pod.Spec.RestartPolicy), exitCode)
	}
	if rule := matchingRestartRule(c, exitCode); rule != nil {
		return true // Every known action restarts the container.
	}
	return policyAllowsRestart(string(*c.RestartPolicy), exitCode)
}

// MayRestartAfter is MayRestart for a termination in a status. A termination with
// ReasonRestartingAllContainers always allows a restart.
func MayRestartAfter(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == string(ReasonRestartingAllContainers) || MayRestart(pod, c, end.ExitCode)
}

// MayRestartInNewSandbox reports whether a container may restart after an exit code in a new
// sandbox. There the policy of the pod counts too: a container with policy Never may have been
// stopped together with its sandbox.
func MayRestartInNewSandbox(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if MayRestart(pod, c, exitCode) {
		return true
	}
	own := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyNever
	return own && policyAllowsRestart(string(pod.Spec.RestartPolicy), exitCode)
}

// policyAllowsRestart reports whether a restart policy allows a restart after an exit code. OnFailure allows it
// for any code except 0, Never does not, and any other policy does.
func policyAllowsRestart(policyName string, exitCode int32) bool {
	switch policyName {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

// RestartsAll reports whether the exit of a container restarts all containers of the pod: its first
// matching restart rule has the action RestartAllContainers.
func RestartsAll(c *v1.Container, exitCode int32) bool {
	rule := matchingRestartRule(c, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// MayRestartAll reports whether a container of the pod has a restart rule with the action
// RestartAllContainers. Only such a pod has the condition AllContainersRestarting.
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

// matchingRestartRule returns a pointer to the first restart rule of a container that matches an exit code, or
// nil. A container without its own restart policy has no rules. A rule with an unknown action or operator never
// matches.
func matchingRestartRule(c *v1.Container, exitCode int32) *v1.ContainerRestartRule {
	if c.RestartPolicy == nil {
		return nil
	}
	for i := range c.RestartPolicyRules {
		rule := &c.RestartPolicyRules[i]
		switch rule.Action {
		case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
			if matchesExitCode(rule.ExitCodes, exitCode) {
				return rule
			}
		}
	}
	return nil
}

// matchesExitCode reports whether the condition of a restart rule matches an exit code: the code is in its
// values, or, with the operator NotIn, it is not. A nil condition and an unknown operator match nothing.
func matchesExitCode(when *v1.ContainerRestartRuleOnExitCodes, exitCode int32) bool {
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
