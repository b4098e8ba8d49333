package reconcile_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status/reconcile"
)

// A status is completed from the one before it. If that changes nothing it need not be sent.
func ExampleComplete() {
	pod := &v1.Pod{}
	first := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	again := *first.DeepCopy()
	reconcile.Complete(pod, &v1.PodStatus{}, &first, time.Unix(10, 0).UTC())
	reconcile.Complete(pod, &first, &again, time.Unix(20, 0).UTC())
	fmt.Println(again.StartTime.Unix(), again.Conditions[0].LastTransitionTime.Unix(), reconcile.Equal(&first, &again))
	// Output: 10 10 true
}

// Merge keeps the fields of other writers in a status that several programs write.
func ExampleMerge() {
	theirs := v1.PodStatus{Conditions: []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}}
	mine := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	merged := reconcile.Merge(&theirs, &mine)
	for _, c := range merged.Conditions {
		fmt.Println(merged.Phase, c.Type, c.Status)
	}
	// Output:
	// Running Ready True
	// Running example.com/gate True
}

// A container that has ended for good does not come back.
func ExampleCheckRestarts() {
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "job"}}}}
	ended := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "job", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}}}
	back := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "job", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	fmt.Println(reconcile.CheckRestarts(pod, &ended, &back))
	// Output: a container that has terminated for good is shown again: job
}
