package client_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// A client of a server that does not exist: the call says so.
func ExampleNew() {
	c, err := client.New(&rest.Config{Host: "http://127.0.0.1:1"}, "node-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.PodFeed().List(context.Background(), "")
	fmt.Println(err != nil)
	// Output: true
}

// A kubeconfig that is missing is an error at once.
func ExampleFromKubeconfig() {
	_, err := client.FromKubeconfig("/no/such/kubeconfig", "node-1")
	fmt.Println(err)
	// Output: client: stat /no/such/kubeconfig: no such file or directory
}

// Many nodes of one process share connections. The user of the configuration acts for them.
func ExampleClient_Impersonate() {
	shared, err := client.New(&rest.Config{Host: "http://127.0.0.1:1"}, "node-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	node2, err := shared.Impersonate("node-2")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = node2.Nodes().Get(context.Background(), "node-2")
	fmt.Println(err != nil, shared.Requests())
	// Output: true 1
}
