package podstatus_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// A table test of one's own needs a pod, the statuses of its containers, and no more.
func ExampleConclude() {
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyOnFailure, Containers: []v1.Container{{Name: "job"}}}}
	for _, code := range []int32{0, 1} {
		status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "job", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}},
		}}}
		status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
		fmt.Println(code, status.Phase, podstatus.MayRestart(pod, &pod.Spec.Containers[0], code))
	}
	// Output:
	// 0 Succeeded false
	// 1 Running true
}

// The node adds a fact that the containers alone do not show: here, that the pod was stopped. No restart policy applies
// then.
func ExampleObserved() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web"}}}}
	status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "web", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 143}},
	}}}
	fmt.Println(podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true}).Phase)
	fmt.Println(podstatus.Conclude(pod, status, podstatus.Observed{Terminated: true}).Phase)
	// Output:
	// Running
	// Failed
}
