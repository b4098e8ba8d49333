// Command cluster joins a Kubernetes cluster as a node:
//
//	go run ./examples/cluster --kubeconfig node.kubeconfig
//	go run ./examples/cluster --kubeconfig node.kubeconfig --runtime cri --root-dir /var/lib/podkeel
//
// The credentials are those of a node: user system:node:NAME, group system:nodes. The
// name is that of the user, unless --hostname-override says another one.
//
// Containers "run" in memory, following their command (sleep 3, true, sh -c "exit 1") or a
// script in an annotation (see the package runtime/memory), so nothing is needed but an API
// server. With --runtime cri they are real ones, of a containerd, which takes root. Without
// a kubeconfig it says how to get one, and ends.
//
// With --port the node's API is served there for kubectl logs, exec, attach and port-forward,
// to those whom the API server allows it: its own client certificate needs --client-ca-file.
//
// A line per change of a pod goes to standard output, the log to standard error. The first
// SIGINT or SIGTERM ends it with status 0 and leaves containers as they are. Bad arguments
// end it with status 2, a failure of the node with status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/apiserver/client"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// guidance is for a first look.
const guidance = `This joins a Kubernetes cluster as a node whose containers run in memory.
It needs a kubeconfig with the credentials of a node:

  cluster --kubeconfig node.kubeconfig        the user is system:node:NAME, the group system:nodes
  cluster --help                              all flags
`

// run is main without the process around it. It returns the status of the process.
func run(ctx context.Context, args []string, out, logs io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(out, guidance)
		return 0
	}
	o, err := parse(args, out)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintln(logs, "cluster:", plain.Text(err.Error()))
		return 2
	}
	if err := join(ctx, o, out, logs); err != nil {
		fmt.Fprintln(logs, "cluster:", plain.Text(err.Error()))
		return 1
	}
	return 0
}

// line is what is printed of a state; false if that was printed last.
func line(printed map[types.UID]string, state node.PodState) (text string, news bool) {
	pod, what := state.Pod, state.Summary().String()
	if state.Gone {
		delete(printed, pod.UID)
		what = "deleted"
	} else if printed[pod.UID] == what {
		return "", false
	} else {
		printed[pod.UID] = what
	}
	return fmt.Sprintf("%s/%s\t%s", pod.Namespace, pod.Name, what), true
}

// join runs the node until ctx ends.
func join(ctx context.Context, o *options, out, logs io.Writer) error {
	server, err := client.FromKubeconfig(o.kubeconfig, o.name)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	log := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	config, err := o.config(server, log)
	defer o.claimed.Close() // It may be nil.
	if err != nil {
		return err
	}
	n, err := cluster.New(config)
	if err != nil {
		return err
	}
	serve, err := o.listen(n, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "joining as node %s, runtime %s\n", o.name, o.runtime)
	watching, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := serve(watching); err != nil {
			log.Error("The node's API is not served any more", "err", err)
		}
	})
	beside.Go(func() {
		printed := map[types.UID]string{}
		for state := range n.Node().Watch(watching) {
			if line, news := line(printed, state); news {
				fmt.Fprintln(out, line)
			}
		}
	})
	err = n.Run(ctx)
	end()
	beside.Wait()
	return err
}
