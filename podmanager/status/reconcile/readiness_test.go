package reconcile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// Only a condition of readiness says that something was said of it.
func TestEndReadiness_SaidOfReadiness(t *testing.T) {
	ends := func(of v1.PodConditionType) []v1.PodConditionType {
		var types []v1.PodConditionType
		status := &v1.PodStatus{Phase: v1.PodFailed}
		setNotReadyIfTerminal(&v1.PodStatus{Conditions: []v1.PodCondition{{Type: of}}}, status)
		for _, c := range status.Conditions {
			types = append(types, c.Type)
		}
		return types
	}
	both := []v1.PodConditionType{v1.ContainersReady, v1.PodReady}
	assert.Equal(t, both, ends(v1.PodReady))
	assert.Equal(t, both, ends(v1.ContainersReady))
	assert.Empty(t, ends(v1.PodScheduled))
}
