package podsync_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
)

// statuses is a StatusStore that prints the statuses.
type statuses map[types.UID]v1.PodStatus

func (s statuses) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	s[pod.UID] = *status.DeepCopy()
	fmt.Print("status ", status.Phase)
	for _, c := range status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			fmt.Printf(" %s=Waiting(%s)", c.Name, c.State.Waiting.Reason)
		case c.State.Running != nil:
			fmt.Printf(" %s=Running", c.Name)
		case c.State.Terminated != nil:
			fmt.Printf(" %s=Terminated(%d)", c.Name, c.State.Terminated.ExitCode)
		}
	}
	fmt.Println()
}

func (s statuses) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) { s.SetPodStatus(pod, status) }

func (s statuses) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	status, ok := s[uid]
	return *status.DeepCopy(), ok
}

func (s statuses) TerminatePod(pod *v1.Pod) { fmt.Println("status finished") }

// A pod is brought up and taken down again. In an agent podworkers makes these
// calls, whenever there is something to do.
func ExampleNew() {
	rt := memory.New(memory.Config{})
	syncer, err := podsync.New(podsync.Config{
		Runtime: rt,
		Status:  statuses{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "web", Image: "nginx:1"}}},
	}
	ctx := context.Background()
	for range 2 {
		status, _ := rt.PodStatus(ctx, pod.UID)
		_, _ = syncer.SyncPod(ctx, podworkers.SyncPodSync, pod, nil, status)
	}
	status, _ := rt.PodStatus(ctx, pod.UID)
	_ = syncer.SyncTerminatingPod(ctx, pod, status, nil, nil)
	// Output:
	// status Pending web=Waiting(ContainerCreating)
	// status Running web=Running
	// status Running web=Running
	// status Failed web=Terminated(143)
}

// A pod with unsupported fields is rejected at admission.
func ExampleUnsupported() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", ReadinessProbe: &v1.Probe{}}}}}
	rejected, _ := podsync.Unsupported(pod, podsync.Features{})
	fmt.Println(rejected)
	// Output:
	// [spec.containers[0].readinessProbe: probes are not made]
}
