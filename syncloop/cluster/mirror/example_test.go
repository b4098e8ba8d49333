package mirror_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/mirror"
)

// The action for a static pod without a mirror pod at the API server.
func ExampleDecide() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "dns-node-1", Namespace: "default"}}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"}}
	fmt.Println(mirror.Decide(mirror.Facts{Static: pod, Node: node}))
	// Output: Create
}

// A reconciler runs beside a node and reads its pods.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	reconciler, err := mirror.New(mirror.Config{
		Pods: podmanager.New(), Server: server.Client("node-1").Pods(), Node: func() *v1.Node { return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(reconciler.Run(ctx))
	// Output: <nil>
}
