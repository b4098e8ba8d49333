// Command fleet joins many nodes to a Kubernetes cluster, in one process:
//
//	go run ./examples/fleet --kubeconfig admin.kubeconfig --nodes 200
//
// Their containers are simulated in memory, and everything else in the lifecycle of a pod is real: init containers,
// probes, restarts, grace periods, statuses, leases. See README.md.
//
// Counts go to standard output and errors to standard error. The first SIGINT or SIGTERM exits with code 0. Bad
// arguments exit with code 2, a server that rejects the node with code 1.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal kills the program.
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

var program = command.Program{Name: "fleet", Guidance: `This joins many nodes to a Kubernetes cluster. Their containers run in memory.
It needs a kubeconfig of an administrator, or of a user that may impersonate nodes:

  fleet --kubeconfig admin.kubeconfig --nodes 200
  fleet --help                                all flags
`}

// run runs the program with its command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, logs io.Writer) int {
	return command.Run(program, args, out, logs, defineFlags, (*options).checkFlags, func(o *options) error { return connectAndRunFleet(ctx, o, in, out, logs) })
}

// connectAndRunFleet runs the fleet until ctx is done or a node fails. All nodes share one set of connections.
func connectAndRunFleet(ctx context.Context, o *options, in io.Reader, out, logs io.Writer) error {
	shared, err := client.FromKubeconfig(o.kubeconfig, o.nodeName(0))
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	defer shared.Reconnect()
	connect := shared.ForNode
	if o.impersonate {
		connect = shared.Impersonate
	}
	f := &fleet{options: o, out: out, requests: shared.Requests, logs: newDedupHandler(logs)}
	if o.commands {
		f.commands = in
	}
	return f.createAndRunNodes(ctx, func(name string) (apiserver.Server, error) { return connect(name) })
}
