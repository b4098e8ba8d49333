package explain

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// restarts says whether a container that has ended is started again: by its own
// rules, then by its own policy, then by the pod's.
func restarts(pod *v1.Pod, spec *v1.Container, c *Container) bool {
	code := c.LastEnd.ExitCode
	for _, rule := range spec.RestartPolicyRules {
		if matches(rule.ExitCodes, code) {
			return rule.Action == v1.ContainerRestartRuleActionRestart || rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
		}
	}
	policy := string(pod.Spec.RestartPolicy)
	if spec.RestartPolicy != nil {
		policy = string(*spec.RestartPolicy)
	} else if c.Kind == Init && policy == string(v1.RestartPolicyAlways) {
		policy = string(v1.RestartPolicyOnFailure)
	}
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return code != 0
	}
	return true
}

func matches(codes *v1.ContainerRestartRuleOnExitCodes, code int32) bool {
	if codes == nil {
		return false
	}
	in := slices.Contains(codes.Values, code)
	switch codes.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return in
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !in
	}
	return false
}
