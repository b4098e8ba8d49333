package nodeagent_test

import (
	"context"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/nodeagent"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// A node registers and reports that it is ready.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	agent, err := nodeagent.New(nodeagent.Config{
		Spec:   nodestatus.Spec{Name: "node-1", OS: "linux", Arch: "amd64"},
		Server: server.Client("node-1"),
		Facts: func(context.Context) nodestatus.Facts {
			return nodestatus.Facts{RuntimeSeen: time.Now(), Runtime: runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	if err := agent.WaitForRegistration(ctx); err != nil {
		fmt.Println(err)
	}
	known, _ := agent.Node()
	fmt.Println(known.Name, known.Status.Conditions[0].Type, known.Status.Conditions[0].Status)
	cancel()
	fmt.Println(<-done)
	// Output:
	// node-1 Ready True
	// <nil>
}
