package podstatus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestResizeEventMessage_RZ48 compares the messages with the messages of the kubelet.
func TestResizeEventMessage_RZ48(t *testing.T) {
	pod := &v1.Pod{}
	pod.Spec.InitContainers = []v1.Container{{Name: "i"}}
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("1")}, Limits: v1.ResourceList{"cpu": resource.MustParse("2")},
	}}}
	details := `{"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"c","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}],"generation":3`
	for reason, want := range map[string]string{
		EventResizeStarted:    "Pod resize started: " + details + "}",
		EventResizeCompleted:  "Pod resize completed: " + details + "}",
		EventResizeError:      "Pod resize error: " + details + `,"error":"why"}`,
		EventResizeDeferred:   "Pod resize Deferred: " + details + `,"error":"why"}`,
		EventResizeInfeasible: "Pod resize Infeasible: " + details + `,"error":"why"}`,
	} {
		message := "why"
		if reason == EventResizeStarted || reason == EventResizeCompleted {
			message = ""
		}
		assert.Equal(t, want, ResizeEventMessage(reason, pod, 3, message))
	}
}
