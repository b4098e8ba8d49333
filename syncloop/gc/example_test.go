package gc_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// A collector removes the records of a removed pod. Step is the body of Run.
func ExampleNewPods() {
	ctx := context.Background()
	machine := memory.New(memory.Config{})
	id, _ := machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "u1", Name: "web"}})
	_ = machine.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: id})

	wanted := map[types.UID]bool{"u1": true}
	pods, err := gc.NewPods(gc.PodsConfig{
		Runtime:   machine,
		Removable: func(uid types.UID) bool { return !wanted[uid] },
		Removed:   func(uid types.UID) { fmt.Println("nothing is left of", uid) },
	})
	if err != nil {
		panic(err)
	}
	pods.Discard([]types.UID{"u1"})
	pods.Step(ctx)
	fmt.Println("pods in the runtime:", len(machine.Snapshot()))
	delete(wanted, "u1")
	pods.Discard([]types.UID{"u1"})
	pods.Step(ctx)
	fmt.Println("pods in the runtime:", len(machine.Snapshot()))
	// Output:
	// pods in the runtime: 1
	// nothing is left of u1
	// pods in the runtime: 0
}

// The last dead record of a container that crashes repeatedly is kept.
func ExampleNewContainers() {
	ctx, end := context.WithCancel(context.Background())
	machine := memory.New(memory.Config{})
	pod := runtime.PodRef{UID: "u1", Name: "web"}
	sandbox, _ := machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
	ref, _ := machine.PullImage(ctx, runtime.PullImageRequest{Image: "web:1"})
	for attempt := range uint32(5) {
		id, _ := machine.CreateContainer(ctx, runtime.CreateContainerRequest{
			Pod: pod, SandboxID: sandbox, Name: "web", Attempt: attempt, Image: "web:1", ImageRef: ref,
		})
		_ = machine.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})
		_ = machine.ExitContainer(id, 1)
	}
	containers, err := gc.NewContainers(gc.ContainersConfig{
		Runtime: machine,
		Seen:    observed{Runtime: machine},
		Living:  func(types.UID) bool { return true },
		Removed: func(types.UID) { end() },
		Delay:   time.Nanosecond,
	})
	if err != nil {
		panic(err)
	}
	containers.Changed("u1")
	_ = containers.Run(ctx)
	for _, c := range machine.SnapshotPod("u1").Containers {
		fmt.Println(c.Name, "attempt", c.Attempt, c.State)
	}
	// Output:
	// web attempt 4 exited
}

// observed stands for a pleg.PLEG.
type observed struct {
	pleg.Generator
	*memory.Runtime
}

func (o observed) Pods() []runtime.Pod { return o.Snapshot() }

func (o observed) Get(uid types.UID) (*runtime.PodStatus, error) {
	return o.PodStatus(context.Background(), uid)
}

// Images that no container refers to are removed when the disk is full.
func ExampleNewImages() {
	ctx := context.Background()
	machine := memory.New(memory.Config{})
	manager, _ := images.New(images.Config{Images: machine})
	collector, err := gc.NewImages(gc.ImagesConfig{Runtime: machine, Images: manager, Seen: observed{Runtime: machine}})
	if err != nil {
		panic(err)
	}
	_, _ = machine.PullImage(ctx, runtime.PullImageRequest{Image: "old:1"})
	freed, err := collector.DeleteUnusedImages(ctx)
	fmt.Println(freed, err)
	// Output:
	// 1048576 <nil>
}

// The directories of removed pods are removed.
func ExampleNewDirectories() {
	ctx, end := context.WithCancel(context.Background())
	directories, err := gc.NewDirectories(gc.DirectoriesConfig{
		Store:   disk{func(uid types.UID) { fmt.Println("removed the directory of", uid); end() }},
		Runtime: memory.New(memory.Config{}),
		Gone:    func(uid types.UID) bool { return uid != "u1" },
		Delay:   time.Nanosecond,
	})
	if err != nil {
		panic(err)
	}
	directories.Changed()
	_ = directories.Run(ctx)
	// Output:
	// removed the directory of u2
}

// disk stands for a logfiles.Dir.
type disk struct{ remove func(types.UID) }

func (disk) Pods(of func(types.UID) bool, _ int) (found []types.UID, err error) {
	return slices.DeleteFunc([]types.UID{"u1", "u2"}, func(uid types.UID) bool { return !of(uid) }), nil
}

func (d disk) Remove(_ context.Context, uid types.UID, _ func(types.UID) bool) error {
	d.remove(uid)
	return nil
}

// library has one log, which is full, and is what else a rotator asks.
type library struct {
	pleg.Generator
	enough context.CancelFunc
}

func (library) Pods() []runtime.Pod { return []runtime.Pod{{UID: "u1"}} }

func (library) Get(types.UID) (*runtime.PodStatus, error) {
	c := runtime.Container{ID: "c1", Name: "main", Attempt: 2, State: runtime.StateRunning}
	return &runtime.PodStatus{UID: "u1", Name: "web", Namespace: "ns", Containers: []runtime.ContainerStatus{{Container: c}}}, nil
}

func (library) Due(_ logfiles.Log, maxBytes int64) (bool, error) { return 11<<20 >= maxBytes, nil }

func (l library) Rotate(ctx context.Context, log logfiles.Log, p policy.Logs, _ time.Time, reopen func(context.Context) error) error {
	defer l.enough()
	fmt.Printf("%s/%s/%d.log is one of %d now\n", log.Pod.Name, log.Container, log.Attempt, p.MaxFiles)
	return reopen(ctx)
}

func (library) ReopenContainerLog(_ context.Context, id string) error {
	fmt.Println(id, "writes to another file")
	return nil
}

// The log of a running container is rotated when it has reached its maximum size.
func ExampleNewLogs() {
	ctx, enough := context.WithCancel(context.Background())
	l := library{enough: enough}
	logs, err := gc.NewLogs(gc.LogsConfig{Store: l, Runtime: l, Seen: l})
	if err != nil {
		panic(err)
	}
	_ = logs.Run(ctx)
	// Output:
	// web/main/2.log is one of 5 now
	// c1 writes to another file
}
