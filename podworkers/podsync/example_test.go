package podsync_test

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
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

// devicePool hands out devices by name, as a device plug-in does.
type devicePool struct{ free []string }

// Augment gives one device to each container with a limit of example.com/gpu.
func (p *devicePool) Augment(_ context.Context, _ *v1.Pod, container *v1.Container) (podsync.Additions, error) {
	if container.Resources.Limits.Name("example.com/gpu", resource.DecimalSI).IsZero() {
		return podsync.Additions{}, nil
	}
	if len(p.free) == 0 {
		return podsync.Additions{}, errors.New("no device is free")
	}
	name := p.free[0]
	p.free = p.free[1:]
	return podsync.Additions{
		CDIDevices: []string{"example.com/gpu=" + name},
		Env:        []runtime.EnvVar{{Name: "VISIBLE_GPUS", Value: name}},
	}, nil
}

// The node gives a device to a container. The same container gets the same device when it restarts.
func ExampleConfig_augment() {
	pool := &devicePool{free: []string{"gpu0", "gpu1"}}
	rt := memory.New(memory.Config{})
	syncer, err := podsync.New(podsync.Config{Runtime: rt, Status: statuses{}, Augment: pool.Augment})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := v1.ResourceRequirements{Limits: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "default", UID: "1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "train", Image: "train:1", Resources: gpu}}},
	}
	for range 2 {
		status, _ := rt.PodStatus(context.Background(), pod.UID)
		_, _ = syncer.SyncPod(context.Background(), podworkers.SyncPodSync, pod, nil, status)
		if len(status.Containers) > 0 {
			_ = rt.ExitContainer(status.Containers[0].ID, 1)
		}
	}
	status, _ := rt.PodStatus(context.Background(), pod.UID)
	_, _ = syncer.SyncPod(context.Background(), podworkers.SyncPodSync, pod, nil, status)
	fmt.Println("free:", pool.free)
	// Output:
	// status Pending train=Waiting(ContainerCreating)
	// status Running train=Running
	// status Running train=Terminated(1)
	// free: [gpu1]
}
