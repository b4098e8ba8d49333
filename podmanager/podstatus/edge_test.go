package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// A pod without containers has not ended.
func TestConclude_NoContainers(t *testing.T) {
	s := podstatus.Conclude(&v1.Pod{}, v1.PodStatus{}, podstatus.Observed{Terminated: true})
	assert.Equal(t, v1.PodPending, s.Phase)
}

func TestIsConditionTrue(t *testing.T) {
	list := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodInitialized, Status: v1.ConditionFalse}}
	assert.True(t, podstatus.IsConditionTrue(list, v1.PodReady))
	assert.False(t, podstatus.IsConditionTrue(list, v1.PodInitialized))
	assert.False(t, podstatus.IsConditionTrue(list, v1.PodScheduled))
}
