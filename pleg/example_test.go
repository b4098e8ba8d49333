package pleg_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

// onePod is a minimal runtime with one pod.
type onePod struct{ exited atomic.Bool }

func (o *onePod) currentContainer() runtime.Container {
	if o.exited.Load() {
		return runtime.Container{ID: "c1", State: runtime.StateExited}
	}
	return runtime.Container{ID: "c1", State: runtime.StateRunning}
}

func (o *onePod) ListPods(context.Context) ([]runtime.Pod, error) {
	return []runtime.Pod{{UID: "web", Containers: []runtime.Container{o.currentContainer()}}}, nil
}

func (o *onePod) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status := &runtime.PodStatus{UID: uid}
	if uid == "web" {
		status.Containers = []runtime.ContainerStatus{{Container: o.currentContainer()}}
	}
	return status, nil
}

// A program with its own loop calls Relist; others call Run.
func ExampleNew() {
	node := &onePod{}
	p, err := pleg.New(pleg.Config{Runtime: node})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes := p.Subscribe(nil)
	step := func() {
		err := p.Relist(context.Background())
		fmt.Println(changes.TakeAll(nil), err)
	}
	step()
	step()
	node.exited.Store(true)
	step()
	// Output:
	// [{web ContainerStarted}] <nil>
	// [] <nil>
	// [{web ContainerDied}] <nil>
}
