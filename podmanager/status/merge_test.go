package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status"
)

// ST-16: fields that other writers own stay, and fields that the node owns are replaced.
func TestMerge_ST16(t *testing.T) {
	condition := func(kind v1.PodConditionType, is v1.ConditionStatus) v1.PodCondition {
		return v1.PodCondition{Type: kind, Status: is}
	}
	theirs := v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{condition("gate", v1.ConditionTrue), condition(v1.PodReady, v1.ConditionFalse)}}
	mine := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{condition(v1.PodReady, v1.ConditionTrue)}}
	assert.Equal(t, v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
		condition(v1.PodReady, v1.ConditionTrue), condition("gate", v1.ConditionTrue),
	}}, status.Merge(theirs, mine))
	assert.Equal(t, v1.PodPending, theirs.Phase)
	assert.Len(t, mine.Conditions, 1, "it is the caller's")
}
