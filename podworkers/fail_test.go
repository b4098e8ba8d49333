package podworkers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

func TestFail_PH11(t *testing.T) {
	target := v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "TerminationByKubelet"}
	first := podworkers.Fail("First", "it was first", target)
	second := podworkers.Fail("Second", "it was second")
	for name, test := range map[string]struct {
		status v1.PodStatus
		want   string
	}{
		"running":              {v1.PodStatus{Phase: v1.PodRunning}, "Failed First it was first [DisruptionTarget=True]"},
		"pending, with a word": {v1.PodStatus{Phase: v1.PodPending, Reason: "Slow"}, "Failed First it was first [DisruptionTarget=True]"},
		"failed by itself":     {v1.PodStatus{Phase: v1.PodFailed}, "Failed First it was first [DisruptionTarget=True]"},
		"failed for a reason":  {v1.PodStatus{Phase: v1.PodFailed, Reason: "Zero", Message: "before"}, "Failed Zero before []"},
		"succeeded":            {v1.PodStatus{Phase: v1.PodSucceeded}, "Succeeded   []"},
		"a condition's place": {v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionFalse}, {Type: v1.PodReady}}},
			"Failed First it was first [DisruptionTarget=True Ready=]"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // A kill is repeated.
				first(&test.status)
				assert.Equal(t, test.want, describeEnd(test.status))
			}
			second(&test.status)
			assert.Equal(t, test.want, describeEnd(test.status), "the first reason stands")
		})
	}
}

func describeEnd(s v1.PodStatus) string {
	conditions := []string{}
	for _, c := range s.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return fmt.Sprint(s.Phase, " ", s.Reason, " ", s.Message, " ", conditions)
}
