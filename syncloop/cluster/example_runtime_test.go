package cluster_test

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// machine is a runtime of the program's own. This one passes most calls on; package runtimetest
// says whether one keeps the promises of package runtime.
type machine struct{ runtime.Runtime }

// CreateContainer implements runtime.Containers.
func (m machine) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	for _, mount := range req.Mounts {
		if mount.ContainerPath == "/data" {
			_, err := os.Stat(mount.HostPath)
			fmt.Println(req.Name, "mounts a directory:", err == nil)
		}
	}
	return m.Runtime.CreateContainer(ctx, req)
}

// A node with a runtime of its own, and volumes on a directory. Without them a pod with
// volumes stays Pending, and an API server gives nearly every pod one: its token. Files
// is nil, so this runtime gets mounts of volumes only. A runtime that can also mount the hosts
// file and the termination message file returns v for both.
func ExampleNew_runtime() {
	root, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	server := apiservertest.New(apiservertest.Config{})
	n, err := cluster.New(cluster.Config{
		Server: server.Client("node-1"), Node: node.Config{Name: "node-1", Runtime: machine{memory.New(memory.Config{})}},
		Volumes: func(n node.Config) (podsync.Volumes, podsync.Files, error) {
			v, err := volumes.New(volumes.Config{Root: root, Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims, Allocatable: n.Allocatable()})
			return v, nil, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.PodSpec{
			NodeName:   "node-1",
			Containers: []v1.Container{{Name: "web", Image: "web:1", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
			Volumes:    []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for state := range n.Node().Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodRunning {
			break
		}
	}
	cancel()
	fmt.Println(<-done, server.Admin().Pod("default", "web").Status.Phase)
	// Output:
	// web mounts a directory: true
	// <nil> Running
}
