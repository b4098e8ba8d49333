package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// TestStatus_PH12_WhyContainersCannotStart: PodReadyToStartContainers that is False says why
// (kubernetes/kubernetes#135299), for each reason for a new sandbox. One that
// is True says nothing.
func TestStatus_PH12_WhyContainersCannotStart(t *testing.T) {
	const reason = "PodSandboxNotReady"
	for world, message := range map[string]string{
		"": "no pod sandbox exists",
		"sandbox 0 ready\nsandbox 1 ready\na 0 running in=0\na 1 running in=1": "multiple pod sandboxes are ready and need to be reconciled",
		"sandbox 0 lost":                   "pod sandbox is not ready",
		"pod host\nsandbox 0 ready":        "network namespace mode changed and sandbox needs to be recreated",
		"sandbox 0 ready noip":             "pod sandbox has no IP address",
		"sandbox 0 ready":                  "",
		"pod host\nsandbox 0 ready host":   "",
		"sandbox 0 lost\nsandbox 1 ready":  "",
		"sandbox 0 ready\nsandbox 1 ready": "",
	} {
		w := newHarness(t, world)
		s := plan.Status(w.statusInput(false))
		c := podstatus.FindCondition(s.Conditions, v1.PodReadyToStartContainers)
		require.NotNil(t, c, world)
		want := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
		if message != "" {
			want.Status, want.Reason, want.Message = v1.ConditionFalse, reason, message
		}
		assert.Equal(t, want, *c, world)
	}
}
