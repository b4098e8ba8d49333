package checkpoint_test

import (
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// A pod that one agent has evicted stays terminated under the next agent.
func ExampleNew() {
	root, err := os.MkdirTemp("", "ended")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}

	first, _ := checkpoint.New(checkpoint.Config{Root: root})
	fmt.Println(first.Save(web, &v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted"}))

	second, _ := checkpoint.New(checkpoint.Config{Root: root})
	status, ok := second.Consume(web)
	fmt.Println(status.Phase, status.Reason, ok)
	// Output:
	// <nil>
	// Failed Evicted true
}

// A container that was ready under one agent is ready under the next one, if it is the same
// container.
func ExampleNewContainers() {
	root, err := os.MkdirTemp("", "containers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}

	first, _ := checkpoint.NewContainers(checkpoint.Config{Root: root})
	fmt.Println(first.SaveContainers(web, []podsync.ContainerState{{Name: "server", ID: "4f1c", Started: true, Ready: true}}))

	second, _ := checkpoint.NewContainers(checkpoint.Config{Root: root})
	for _, c := range second.ConsumeContainers(web) {
		fmt.Println(c.Name, c.ID, c.Started, c.Ready)
	}
	// Output:
	// <nil>
	// server 4f1c true true
}

// A pod that one agent was given also runs under the next one.
func ExampleNewPods() {
	root, err := os.MkdirTemp("", "pods")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}

	first, _ := checkpoint.NewPods(checkpoint.Config{Root: root})
	fmt.Println(first.Save(web))

	second, _ := checkpoint.NewPods(checkpoint.Config{Root: root})
	for _, pod := range second.Load() {
		fmt.Println(pod.Namespace, pod.Name, pod.UID)
	}
	// Output:
	// <nil>
	// default web u1
}

// The next agent runs a pod with the resources that this agent has allocated to it.
func ExampleNewResources() {
	root, err := os.MkdirTemp("", "resources")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	web := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "server", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")},
		}}}},
	}

	first, _ := checkpoint.NewResources(checkpoint.Config{Root: root})
	fmt.Println(first.SaveResources(web, allocation.PodResourcesOf(web)))

	second, _ := checkpoint.NewResources(checkpoint.Config{Root: root})
	allocated, found := second.ConsumeResources(web)
	server := allocated.Containers["server"]
	fmt.Println(server.Requests.Cpu(), found)
	// Output:
	// <nil>
	// 500m true
}
