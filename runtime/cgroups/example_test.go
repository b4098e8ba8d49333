package cgroups_test

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// An agent that sizes the cgroup of a pod, repairs it after another program has changed it, and removes it. On a real
// host Files is left out of the Config and Probe gets NewHostFiles("/").
func Example() {
	files := cgroupstest.New(cgroupstest.Config{Mode: "v2"})
	root, _ := cgroups.RootForOwner("edge-1")
	manager, _ := cgroups.New(cgroups.Config{Root: root, Capabilities: cgroups.Probe(files, root), Files: files})

	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
		Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("64Mi")},
	}}}}}
	pod.UID = types.UID("1234")
	values := podresources.ValuesForPod(pod, podresources.Policy{MaxPIDs: podresources.Finite(100)})
	dir, err := manager.Ensure(pod.UID, values, 1)
	fmt.Println(dir, err)

	files.SetFile("/sys/fs/cgroup"+dir+"/memory.max", "max") // Another program removes the limit.
	dir, _ = manager.Ensure(pod.UID, values, 2)
	text, _ := files.ReadFile("/sys/fs/cgroup" + dir + "/memory.max")
	fmt.Print("memory.max ", string(text))

	orphans, _ := manager.List()
	fmt.Println(orphans, manager.Remove(context.Background(), pod.UID))
	// Output:
	// /podkeel-edge-1/pod1234 <nil>
	// memory.max 67108864
	// [1234] <nil>
}

// The writes for a pod are computed without a file system.
func ExamplePlan() {
	unified := cgroups.Hierarchy{Version: cgroups.V2, Mount: "/sys/fs/cgroup"}
	capabilities := cgroups.Capabilities{State: cgroups.Ready, Unified: unified.Mount}
	capabilities.Controllers[cgroups.Memory] = unified
	want := []cgroups.Group{
		{Dir: "/podkeel-a"},
		{Dir: "/podkeel-a/pod1", Values: cgroups.Values{Memory: podresources.Finite(64 << 20)}},
	}
	for _, write := range cgroups.Plan(capabilities, want, cgroups.Snapshot{}) {
		fmt.Println(write)
	}
	// Output:
	// write /sys/fs/cgroup/cgroup.subtree_control +memory
	// mkdir /sys/fs/cgroup/podkeel-a
	// write /sys/fs/cgroup/podkeel-a/cgroup.subtree_control +memory
	// mkdir /sys/fs/cgroup/podkeel-a/pod1
	// write /sys/fs/cgroup/podkeel-a/pod1/memory.max 67108864
}

// Files below another directory than "/": a container that has the file system of the host at /host, or a test.
func ExampleNewHostFiles() {
	base, _ := os.MkdirTemp("", "cgroups")
	defer os.Remove(base)
	files := cgroups.NewHostFiles(base)
	fmt.Println(files.Mkdir("/sys"))
	names, err := files.ReadDir("/")
	fmt.Println(names, err)
	fmt.Println(files.Remove("/sys"))
	// Output:
	// <nil>
	// [sys] <nil>
	// <nil>
}
