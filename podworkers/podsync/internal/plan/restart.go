package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// reasonRestartingAll is the reason of a container that waits, or was ended,
// because all containers of its pod begin anew.
const reasonRestartingAll = "RestartingAllContainers"

// restart is what the end of a container leads to.
type restart uint8

const (
	restartNone restart = iota
	restartOne          // it is run again
	restartAll          // all containers of its pod begin anew
)

// isSidecar reports whether an init container is restartable: it is started in
// its turn, and runs beside what comes after it. Of a regular container this
// says only that its policy is Always.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// policyOf is the restart policy of a container: its own, or else the pod's. An
// unset one is Always, as the API defaults it. An ordinary init container under
// Always is run again until it succeeds; that it does not go on after that is
// for whoever asks.
func policyOf(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	switch {
	case c.RestartPolicy != nil:
		return v1.RestartPolicy(*c.RestartPolicy)
	case pod.Spec.RestartPolicy == "":
		return v1.RestartPolicyAlways
	}
	return pod.Spec.RestartPolicy
}

// afterExit is what a container's end with this code leads to: the first of its
// rules that matches, or else its policy. Rules count only beside a policy of
// its own (PH-2).
func afterExit(pod *v1.Pod, c *v1.Container, exitCode int32) restart {
	if c.RestartPolicy != nil {
		for i := range c.RestartPolicyRules {
			if r := byRule(&c.RestartPolicyRules[i], exitCode); r != restartNone {
				return r
			}
		}
	}
	switch policyOf(pod, c) {
	case v1.RestartPolicyNever:
		return restartNone
	case v1.RestartPolicyOnFailure:
		if exitCode == 0 {
			return restartNone
		}
	}
	return restartOne
}

// byRule is what one rule makes of an exit code; restartNone: it does not match.
// A rule without exit codes never does, nor one with words that we do not know.
func byRule(r *v1.ContainerRestartRule, exitCode int32) restart {
	if r.ExitCodes == nil {
		return restartNone
	}
	has := slices.Contains(r.ExitCodes.Values, exitCode)
	switch r.ExitCodes.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		has = !has
	default:
		has = false
	}
	switch {
	case has && r.Action == v1.ContainerRestartRuleActionRestart:
		return restartOne
	case has && r.Action == v1.ContainerRestartRuleActionRestartAllContainers:
		return restartAll
	}
	return restartNone
}

// mayRestart reports whether a container that ended with this code is run again,
// alone or with all others.
func mayRestart(pod *v1.Pod, c *v1.Container, exitCode int32) bool {
	return afterExit(pod, c, exitCode) != restartNone
}

// mayRunAgain is mayRestart for an end that was published. One that was brought
// about because everything begins anew is no reason to stay ended.
func mayRunAgain(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartingAll || mayRestart(pod, c, end.ExitCode)
}

// restartsAll reports whether the end of a container, by its record, makes all
// containers of the pod begin anew.
func restartsAll(pod *v1.Pod, c *v1.Container, rec *runtime.ContainerStatus) bool {
	return rec != nil && rec.State == runtime.StateExited && afterExit(pod, c, rec.ExitCode) == restartAll
}

// shouldStart reports whether a container that does not run is to be started,
// given its newest record of this life.
func shouldStart(pod *v1.Pod, c *v1.Container, rec *runtime.ContainerStatus) bool {
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
		return mayRestart(pod, c, rec.ExitCode)
	}
	return true
}
