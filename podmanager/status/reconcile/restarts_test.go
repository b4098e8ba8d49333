package reconcile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// nextAttempt returns the container in its next attempt.
func nextAttempt(c v1.ContainerStatus) v1.ContainerStatus {
	c.RestartCount++
	return c
}

// ofAll marks a container that restarts because all containers of the pod restart.
func ofAll(c v1.ContainerStatus) v1.ContainerStatus {
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 137, Reason: string(podstatus.ReasonRestartingAllContainers)}
	return c
}

// withUnseenExit marks a container whose exit the agent did not observe.
func withUnseenExit(c v1.ContainerStatus) v1.ContainerStatus {
	c.State.Terminated.Reason = unknownExitReason
	return c
}

func TestCheckEnds_ST6(t *testing.T) {
	never := v1.ContainerRestartPolicyNever
	rules := []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
		Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42},
	}}}
	const all = "Always OnFailure Never"
	for _, tc := range []struct {
		name    string
		was, is v1.ContainerStatus
		list    string // init, regular or ephemeral
		change  func(*v1.Pod)
		over    bool   // the pod has Failed
		refused string // under which policies
	}{
		{name: "stays ended", was: exitedContainer("a", 0), is: exitedContainer("a", 0)},
		{name: "ends", was: runningContainer("a"), is: exitedContainer("a", 0)},
		{name: "waits after its first wait", was: waitingContainer("a"), is: runningContainer("a")},
		{name: "success runs again", was: exitedContainer("a", 0), is: runningContainer("a"), refused: "OnFailure Never"},
		{name: "success waits again", was: exitedContainer("a", 0), is: crashedContainer("a", 0), refused: "OnFailure Never"},
		{name: "failure runs again", was: exitedContainer("a", 1), is: runningContainer("a"), refused: "Never"},
		{name: "own policy", was: exitedContainer("a", 1), is: runningContainer("a"), refused: all,
			change: func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = &never }},
		{name: "own policy, in a new sandbox", was: exitedContainer("a", 1), is: nextAttempt(runningContainer("a")), refused: "Never",
			change: func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = &never }},
		{name: "own policy, about to be started in a new sandbox", was: exitedContainer("a", 1), is: crashedContainer("a", 1), refused: "Never",
			change: func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = &never }},
		{name: "own policy, success in a new sandbox", was: exitedContainer("a", 0), is: nextAttempt(runningContainer("a")), refused: "OnFailure Never",
			change: func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = &never }},
		{name: "own rule", was: exitedContainer("a", 42), is: runningContainer("a"),
			change: func(p *v1.Pod) {
				p.Spec.Containers[0].RestartPolicy, p.Spec.Containers[0].RestartPolicyRules = &never, rules
			}},
		{name: "another rule", was: exitedContainer("a", 1), is: runningContainer("a"), refused: all,
			change: func(p *v1.Pod) {
				p.Spec.Containers[0].RestartPolicy, p.Spec.Containers[0].RestartPolicyRules = &never, rules
			}},
		{name: "RestartAllContainers", was: exitedContainer("a", 0), is: ofAll(crashedContainer("a", 0))},
		{name: "RestartAllContainers was shown as its end", is: runningContainer("a"), was: func() v1.ContainerStatus {
			c := exitedContainer("a", 137)
			c.State.Terminated.Reason = string(podstatus.ReasonRestartingAllContainers)
			return c
		}()},
		{name: "nobody saw its end", was: withUnseenExit(exitedContainer("a", 137)), is: runningContainer("a")},
		{name: "nobody saw its end, and the pod is over", was: withUnseenExit(exitedContainer("a", 137)), is: runningContainer("a"), over: true, refused: "Never"},
		{name: "not in the spec", was: exitedContainer("x", 0), is: runningContainer("x")},
		{name: "sidecar", list: "init", was: exitedContainer("sidecar", 0), is: runningContainer("sidecar")},
		{name: "init container again", list: "init", was: exitedContainer("i", 0), is: runningContainer("i"), refused: "OnFailure Never"},
		{name: "init container in another sandbox", list: "init", was: exitedContainer("i", 0), is: nextAttempt(runningContainer("i"))},
		{name: "init container that failed", list: "init", was: exitedContainer("i", 1), is: nextAttempt(runningContainer("i")), refused: "Never"},
		{name: "ephemeral container", list: "ephemeral", was: exitedContainer("e", 1), is: nextAttempt(runningContainer("e")), refused: all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var refused []string
			for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
				pod := podWith("i", "sidecar")
				pod.Spec.RestartPolicy = policy
				pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}}
				if tc.change != nil {
					tc.change(pod)
				}
				of := func(c v1.ContainerStatus) *v1.PodStatus {
					switch tc.list {
					case "init":
						return &v1.PodStatus{InitContainerStatuses: statusList(c)}
					case "ephemeral":
						return &v1.PodStatus{EphemeralContainerStatuses: statusList(c)}
					}
					return &v1.PodStatus{ContainerStatuses: statusList(c)}
				}
				assert.NoError(t, CheckRestarts(pod, &v1.PodStatus{}, of(tc.is)), "nothing was said before")
				old := of(tc.was)
				if tc.over {
					old.Phase = v1.PodFailed
				}
				if err := CheckRestarts(pod, old, of(tc.is)); err != nil {
					assert.ErrorIs(t, err, ErrUnexpectedRestart)
					assert.ErrorContains(t, err, tc.was.Name)
					refused = append(refused, string(policy))
				}
			}
			assert.Equal(t, tc.refused, strings.Join(refused, " "))
		})
	}
}
