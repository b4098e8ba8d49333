package patch_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// The patch has the differences and the UID of the pod.
func ExamplePodStatus() {
	server := v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}}
	raw, err := patch.PodStatus("uid-1", &server, &v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.1.2.3"})
	fmt.Println(string(raw), err)
	// Output: {"metadata":{"uid":"uid-1"},"status":{"phase":"Running","podIP":"10.1.2.3"}} <nil>
}
