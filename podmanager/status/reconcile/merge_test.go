package reconcile

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

func conditionTypes(s *v1.PodStatus) string {
	var all []string
	for _, c := range s.Conditions {
		all = append(all, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return fmt.Sprint(all)
}

func TestMerge_ST16(t *testing.T) {
	theirs := &v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
		newCondition(v1.PodReady, "False", earlier), newCondition("gate", "True", earlier), newCondition("other", "False", earlier),
	}}
	mine := &v1.PodStatus{Phase: v1.PodRunning, PodIP: "192.0.2.1", Conditions: []v1.PodCondition{
		newCondition(v1.PodReady, "True", now), newCondition("gate", "False", now), newCondition(v1.DisruptionTarget, "True", now),
	}}
	merged := Merge(theirs, mine)
	assert.Equal(t, "192.0.2.1", merged.PodIP)
	assert.Equal(t, "[Ready=True gate=True other=False]", conditionTypes(&merged), "ours, and theirs; the disruption waits for the end")
	assert.Equal(t, "[Ready=True gate=False DisruptionTarget=True]", conditionTypes(mine), "is not changed")

	mine.Phase = v1.PodFailed
	merged = Merge(theirs, mine)
	assert.Equal(t, "[Ready=True DisruptionTarget=True gate=True other=False]", conditionTypes(&merged), "it ends now")

	theirs.Phase = v1.PodFailed
	theirs.Conditions = append(theirs.Conditions, newCondition(v1.DisruptionTarget, "False", earlier))
	merged = Merge(theirs, mine)
	assert.Equal(t, "[Ready=True gate=True other=False DisruptionTarget=False]", conditionTypes(&merged), "it has ended before")
}

func TestHoldBack_ST17(t *testing.T) {
	before := &v1.PodStatus{Phase: v1.PodRunning, Reason: "r", Message: "m", PodIP: "192.0.2.1"}
	status := &v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", PodIP: "192.0.2.2", Conditions: []v1.PodCondition{
		newCondition(v1.DisruptionTarget, "True", now), newCondition(v1.PodReady, "False", now),
	}}
	HoldBackTerminalPhase(before, status)
	assert.Equal(t, []string{"Running", "r", "m", "192.0.2.2"}, []string{string(status.Phase), status.Reason, status.Message, status.PodIP})
	assert.Equal(t, "[Ready=False]", conditionTypes(status))
}
