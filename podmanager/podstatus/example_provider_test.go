package podstatus_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Machine is what a provider of a virtual node has: something that lists container
// states.
type Machine interface {
	List(namespace, pod string) []State
}

// State is one container as the machine shows it.
type State struct {
	Name, Image string
	Running     bool
	ExitCode    int32 // if it does not run
}

// Provider answers GetPodStatus as virtual-kubelet asks it.
type Provider struct {
	machine Machine
	pods    map[string]*v1.Pod // by namespace and name
}

// GetPodStatus lists the containers of a pod and leaves the rest to Conclude.
func (p *Provider) GetPodStatus(_ context.Context, namespace, name string) (*v1.PodStatus, error) {
	pod, ok := p.pods[namespace+"/"+name]
	if !ok {
		return nil, fmt.Errorf("no pod %s/%s", namespace, name)
	}
	var status v1.PodStatus
	for _, s := range p.machine.List(namespace, name) {
		c := v1.ContainerStatus{Name: s.Name, Image: s.Image, Ready: s.Running, Started: &s.Running}
		if s.Running {
			c.State.Running = &v1.ContainerStateRunning{}
		} else {
			c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: s.ExitCode}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, c)
	}
	status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
	return &status, nil
}

// vm is a machine with one container that runs and one that has ended.
type vm struct{}

func (vm) List(string, string) []State {
	return []State{{Name: "web", Running: true}, {Name: "once", ExitCode: 1}}
}

// A provider that lists container states has phase and conditions from Conclude.
func ExampleConclude_provider() {
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "web"}, {Name: "once"}}}}
	p := &Provider{machine: vm{}, pods: map[string]*v1.Pod{"ns/p": pod}}
	status, err := p.GetPodStatus(context.Background(), "ns", "p")
	if err != nil {
		panic(err)
	}
	fmt.Println(status.Phase)
	for _, c := range status.Conditions {
		fmt.Printf("%s=%s\n", c.Type, c.Status)
	}
	// Output:
	// Running
	// PodReadyToStartContainers=True
	// Initialized=True
	// Ready=False
	// ContainersReady=False
	// PodScheduled=True
}
