package restart

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
)

// ReasonAll is the reason of an end, and of a wait, that comes from all
// containers of a pod beginning anew. Whoever has ended by it runs again.
const ReasonAll = "RestartingAllContainers"

// May reports whether a container that ended with this code runs again. [PH-2]
func May(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return policy(string(pod.Spec.RestartPolicy), exitCode)
	}
	if rule := matching(c, exitCode); rule != nil {
		return true // Both actions there are start it again.
	}
	return policy(string(*c.RestartPolicy), exitCode)
}

// Anew reports whether a container that ended with this code is started again in a
// new sandbox of its pod. There the pod's policy decides: a container whose own is
// Never did not end by itself, as far as anything tells. [CA-3, CA-5]
func Anew(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	if May(pod, c, exitCode) {
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

// All reports whether all containers of a pod begin anew when this one has
// ended with this code.
func All(c *v1.Container, exitCode int32) bool {
	rule := matching(c, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// CanAll reports whether there is an end of a container that makes all of the
// pod begin anew.
func CanAll(pod *v1.Pod) bool {
	for c := range containers.All(pod) {
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
