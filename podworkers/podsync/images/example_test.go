package images_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

func typesUID(s string) types.UID { return types.UID(s) }

// A caller leases the image before it creates a container. It releases the lease when the record of the
// container refers to the image.
func ExampleNew() {
	ctx := context.Background()
	machine := memory.New(memory.Config{})
	m, err := images.New(images.Config{Images: machine})
	if err != nil {
		panic(err)
	}
	name, _ := images.Normalize("nginx")
	lease, _ := m.Lease(ctx, name)
	_, _ = m.Pull(ctx, images.PullRequest{Image: name})
	list, _ := machine.ListImages(ctx)

	sweep := m.Sweep()
	fmt.Println("while it is leased:", errors.Is(sweep.Remove(ctx, list[0]), images.ErrLeased))
	sweep.End()
	lease.Release()
	sweep = m.Sweep()
	fmt.Println("after that:", sweep.Remove(ctx, list[0]))
	sweep.End()
	_, err = machine.ImageStatus(ctx, runtime.ImageStatusRequest{Image: name})
	fmt.Println("it is gone:", errors.Is(err, runtime.ErrNotFound))
	// Output:
	// while it is leased: true
	// after that: <nil>
	// it is gone: true
}
