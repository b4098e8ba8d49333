package cri_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// New does not connect. If the runtime is not there yet, the first call returns an error, and the next call tries
// again.
func ExampleNew() {
	dir, _ := os.MkdirTemp("", "example")
	defer func() { _ = os.RemoveAll(dir) }()
	owner, _ := cri.OwnerFile(dir)
	rt, err := cri.New(cri.Config{Endpoint: "unix://" + dir + "/containerd.sock", Owner: owner})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = rt.Close() }()
	_, err = rt.ListPods(context.Background())
	fmt.Println(errors.Is(err, runtime.ErrNotReady))
	// Output: true
}
