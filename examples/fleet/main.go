// Command fleet joins many nodes to a Kubernetes cluster, in one process:
//
//	go run ./examples/fleet --kubeconfig admin.kubeconfig --nodes 200
//
// Their containers run in memory, and everything else of a pod's life is real: init
// containers, probes, restarts, grace periods, statuses, leases. See README.md.
//
// A line of counts goes to standard output, errors go to standard error. The first SIGINT or
// SIGTERM ends it with status 0. Bad arguments end it with status 2, a server that refuses
// with status 1.
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
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

var program = command.Program{Name: "fleet", Guidance: `This joins many nodes to a Kubernetes cluster. Their containers run in memory.
It needs a kubeconfig of an administrator, or of a user that may impersonate nodes:

  fleet --kubeconfig admin.kubeconfig --nodes 200
  fleet --help                                all flags
`}

// run is main without the process around it. It returns the status of the process.
func run(ctx context.Context, args []string, out, logs io.Writer) int {
	return command.Run(program, args, out, logs, define, (*options).check, func(o *options) error { return join(ctx, o, out, logs) })
}

// join runs the fleet over one set of connections until ctx ends.
func join(ctx context.Context, o *options, out, logs io.Writer) error {
	shared, err := client.FromKubeconfig(o.kubeconfig, o.name(0))
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	defer shared.Reconnect()
	connect := shared.ForNode
	if o.impersonate {
		connect = shared.Impersonate
	}
	f := &fleet{options: o, out: out, requests: shared.Requests, logs: newDigest(logs)}
	return f.run(ctx, func(name string) (apiserver.Server, error) { return connect(name) })
}
