// Command cluster joins a Kubernetes cluster as a node:
//
//	go run ./examples/cluster --kubeconfig node.kubeconfig
//	go run ./examples/cluster --kubeconfig node.kubeconfig --runtime cri --root-dir /var/lib/podkeel
//
// The credentials belong to a node: user system:node:NAME, group system:nodes. NAME is the host name in lower case,
// unless --hostname-override sets another name.
//
// Containers are simulated in memory. They follow their command (sleep 3, true, sh -c "exit 1") or a script in an
// annotation (see the package runtime/memory), so only an API server is needed. With --runtime cri they are real
// containers of a containerd, which requires root. Without a kubeconfig the program explains how to get one, and exits.
//
// The node's API is served on port 10250 for kubectl logs, exec, attach, cp and port-forward, to the users that the API
// server allows. The API server's own client certificate needs --client-ca-file. Without that flag these commands do
// not work, and only the machine itself can connect to the port.
//
// A line per change of a pod goes to standard output, and the log to standard error. A repeated message is logged once
// a minute. The first SIGINT or SIGTERM exits with code 0 and leaves containers running; a second one kills the
// program. Bad arguments exit with code 2, a failure of the node with code 1.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal kills the program.
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

var program = command.Program{Name: "cluster", Guidance: `This joins a Kubernetes cluster as a node whose containers run in memory.
It needs a kubeconfig with the credentials of a node:

  cluster --kubeconfig node.kubeconfig                            the user is system:node:NAME, the group system:nodes
  cluster --kubeconfig node.kubeconfig --client-ca-file ca.crt    kubectl logs, exec, attach, cp and port-forward work as well
  cluster --kubeconfig node.kubeconfig --runtime cri              containers of a containerd, as root
  cluster --help                                                  all flags
`}

// run runs the program and returns the exit code. It buffers the output and drops lines that are not read in
// time, so that they delay neither the node nor the exit.
func run(ctx context.Context, args []string, out, logs io.Writer) int {
	lines, log := command.NewBuffered(out, printDroppedCount), command.NewBuffered(logs, printDroppedCount)
	defer func() { lines.Flush(outputFlushTimeout); log.Flush(outputFlushTimeout) }()
	out, logs = lines, log
	return command.Run(program, args, out, logs, defineFlags, (*options).checkAndComplete, func(o *options) error { return runNode(ctx, o, out, logs) })
}

// outputFlushTimeout is how long the program waits at exit for the reader of the output, and of the log.
const outputFlushTimeout = time.Second

// printDroppedCount prints the number of output lines that were dropped because no process read them.
func printDroppedCount(to io.Writer, lines int) {
	fmt.Fprintf(to, "... %d lines were dropped, because nothing read them\n", lines)
}

// formatIfChanged returns the line for the state of a pod. changed is false if the last line of this pod was
// the same. It stores the state in printed, or deletes the pod there if the pod is gone.
func formatIfChanged(printed map[types.UID]string, state node.PodState) (text string, changed bool) {
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

// runNode creates the node, serves the node's API, and prints changes of the pods until ctx is done or the node
// fails. With the CRI runtime it locks --root-dir. At the end it prints that the Node object stays in the
// cluster, if the node was registered and did not fail.
func runNode(ctx context.Context, o *options, out, logs io.Writer) error {
	server, err := o.newServerClient()
	if err != nil {
		return err
	}
	find := func(ctx context.Context) []string { return primaryIPs(ctx, server, net.InterfaceAddrs) }
	if o.certificateIPs = o.ips; len(o.ips) == 0 {
		o.certificateIPs = find(ctx)
	}
	log := slog.New(newRateLimitedHandler(logs))
	config, err := o.nodeConfigAndLockRoot(server, log)
	config.LocalIPs = find
	defer o.rootLock.Close() // It may be nil.
	if err != nil {
		return err
	}
	n, err := cluster.New(config)
	if err != nil {
		return err
	}
	o.metrics.Observe(n.Node())
	serve, err := o.listenAndReturnServe(n, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "joining as node %s, runtime %s\n%s\n", o.name, o.runtime, o.nodeAPIServingText())
	watching, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := serve(watching); err != nil {
			log.Error("The server of the node's API has failed", "err", err)
		}
	})
	lines := &lockedWriter{Writer: command.Visible(out)}
	beside.Go(func() { printAdviceAndRegistration(watching, n, server, o.name, lines) })
	beside.Go(func() {
		printed := map[types.UID]string{}
		for state := range n.Node().Watch(watching) {
			if line, news := formatIfChanged(printed, state); news {
				fmt.Fprintln(lines, line)
			}
		}
	})
	err = n.Run(ctx)
	end()
	beside.Wait()
	if err == nil && n.Object() != nil {
		fmt.Fprintf(out, "ended; the node stays in the cluster and becomes NotReady; remove it with: kubectl delete node %s\n", o.name)
	}
	return err
}

// newServerClient returns a client of the API server in --kubeconfig. The client counts its requests in the
// metrics. newServerClient sends no request.
func (o *options) newServerClient() (server *client.Client, err error) {
	counted, err := o.metricsOrNew()
	if err != nil {
		return nil, err
	}
	config, err := client.Kubeconfig(o.kubeconfig)
	if err == nil {
		config.Wrap(counted.RoundTripper)
		server, err = client.New(config, o.name)
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return server, nil
}

// lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	sync.Mutex
	io.Writer
}

// Write implements io.Writer. Only one call at a time writes.
func (l *lockedWriter) Write(text []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Writer.Write(text)
}

// printAdviceAndRegistration requests the Node object, and prints advice if the server rejects the request or
// does not answer. Then it waits until the node is registered and prints that. It returns early if ctx is done.
func printAdviceAndRegistration(ctx context.Context, n *cluster.Node, server apiserver.Server, name string, out io.Writer) {
	const limit = 10 * time.Second
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := server.Nodes().Get(bounded, name)
	if advice := adviceOrTextOfError(err, name); advice != "" && ctx.Err() == nil {
		fmt.Fprintf(out, "not registered, and tried again: %s\n", advice)
	}
	if n.WaitForRegistration(ctx) == nil {
		fmt.Fprintf(out, "node %s is registered\n", name)
	}
}

// adviceOrTextOfError returns an advice to the user about an error of the first request. It returns "" if err is
// nil, or if the Node object does not exist yet.
func adviceOrTextOfError(err error, name string) string {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ""
	case apierrors.IsUnauthorized(err):
		return "the API server does not know the user of the kubeconfig: use newer credentials"
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the user of the kubeconfig may not act as node %s: it must be system:node:%s of the group system:nodes, and --hostname-override must name its node", name, name)
	case apierrors.ReasonForError(err) == "":
		return fmt.Sprintf("the API server does not answer: check its address and certificate in the kubeconfig: %v", withoutQuery(slog.AnyValue(err)))
	}
	return err.Error()
}
