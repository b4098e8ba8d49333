package podstatus_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// A container that has not been created waits for the init containers of its pod.
func ExampleWaitingReason() {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "setup"}},
		Containers:     []v1.Container{{Name: "web"}},
	}}
	why := podstatus.WaitingReason(podstatus.Waiting{Pod: pod, Container: &pod.Spec.Containers[0], Published: &pod.Status})
	fmt.Println(string(why), why.Meaning().Pending)
	// Output:
	// PodInitializing true
}
