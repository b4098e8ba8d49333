package podstatus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

func restartRule(action, op string, codes ...int32) v1.ContainerRestartRule {
	return v1.ContainerRestartRule{
		Action:    v1.ContainerRestartRuleAction(action),
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOperator(op), Values: codes},
	}
}

// PH-2: rules, then the container's policy, then the pod's.
func TestMay_PH2(t *testing.T) {
	for _, tc := range []struct {
		pod, container string
		rules          []v1.ContainerRestartRule
		want           string // for 0, 1 and 42
	}{
		{"", "", nil, "true true true"},
		{"Always", "", nil, "true true true"},
		{"OnFailure", "", nil, "false true true"},
		{"Never", "", nil, "false false false"},
		{"Never", "Always", nil, "true true true"},
		{"Always", "Never", nil, "false false false"},
		{"Always", "OnFailure", nil, "false true true"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "In", 42, 43)}, "false false true"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "NotIn", 42)}, "true true false"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "In")}, "false false false"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "NotIn")}, "true true true"},
		{"Never", "OnFailure", []v1.ContainerRestartRule{restartRule("Restart", "In", 0)}, "true true true"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("RestartAllContainers", "In", 1)}, "false true false"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "In", 1), restartRule("RestartAllContainers", "In", 42)}, "false true true"},
		{"Never", "", []v1.ContainerRestartRule{restartRule("Restart", "In", 42)}, "false false false"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Explode", "In", 42)}, "false false false"},
		{"Never", "Never", []v1.ContainerRestartRule{restartRule("Restart", "Near", 42), {Action: "Restart"}}, "false false false"},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicy(tc.pod)}}
		c := &v1.Container{RestartPolicyRules: tc.rules}
		if tc.container != "" {
			p := v1.ContainerRestartPolicy(tc.container)
			c.RestartPolicy = &p
		}
		got := fmt.Sprint(podstatus.MayRestart(pod, c, 0), podstatus.MayRestart(pod, c, 1), podstatus.MayRestart(pod, c, 42))
		assert.Equal(t, tc.want, got, "%+v", tc)
	}
}

// CA-21: the first rule that matches decides, and only one that may.
func TestAll_CA21(t *testing.T) {
	never := v1.ContainerRestartPolicyNever
	c := &v1.Container{RestartPolicy: &never, RestartPolicyRules: []v1.ContainerRestartRule{
		restartRule("Restart", "In", 1), restartRule("RestartAllContainers", "In", 1, 42),
	}}
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{}}, Containers: []v1.Container{{}}}}
	assert.False(t, podstatus.MayRestartAll(pod))
	pod.Spec.Containers[0] = *c
	assert.True(t, podstatus.MayRestartAll(pod))
	pod.Spec.Containers[0], pod.Spec.InitContainers[0] = v1.Container{}, *c
	assert.True(t, podstatus.MayRestartAll(pod), "of an init container too")
	assert.True(t, podstatus.RestartsAll(c, 42))
	assert.False(t, podstatus.RestartsAll(c, 1), "the first rule says less")
	assert.False(t, podstatus.RestartsAll(c, 2))
	c.RestartPolicy, pod.Spec.InitContainers[0].RestartPolicy = nil, nil
	assert.False(t, podstatus.RestartsAll(c, 42), "rules without a policy are none")
	assert.False(t, podstatus.MayRestartAll(pod))
}

// CA-3, CA-5: in a new sandbox the pod's policy decides where the container's own
// is Never.
func TestAnew_ThePodsPolicyDecides(t *testing.T) {
	for _, tc := range []struct {
		pod, container string
		want           string // for 0, 1 and 137
	}{
		{"Always", "Never", "yes yes yes"},
		{"OnFailure", "Never", "no yes yes"},
		{"Never", "Never", "no no no"},
		{"", "Never", "yes yes yes"},
		{"Always", "OnFailure", "no yes yes"},
		{"Never", "Always", "yes yes yes"},
		{"Always", "", "yes yes yes"},
		{"OnFailure", "", "no yes yes"},
		{"Never", "", "no no no"},
	} {
		pod, c := &v1.Pod{}, &v1.Container{}
		pod.Spec.RestartPolicy = v1.RestartPolicy(tc.pod)
		if tc.container != "" {
			c.RestartPolicy = new(v1.ContainerRestartPolicy(tc.container))
		}
		var got []string
		for _, code := range []int32{0, 1, 137} {
			got = append(got, map[bool]string{true: "yes", false: "no"}[podstatus.MayRestartInNewSandbox(pod, c, code)])
		}
		assert.Equal(t, tc.want, strings.Join(got, " "), "%s %s", tc.pod, tc.container)
	}
}
