// Command cluster joins a Kubernetes cluster as a node:
//
//	go run ./examples/cluster --kubeconfig node.kubeconfig
//	go run ./examples/cluster --kubeconfig node.kubeconfig --runtime cri --root-dir /var/lib/podkeel
//
// The credentials are those of a node: user system:node:NAME, group system:nodes. NAME is
// that of the machine in lower case, unless --hostname-override says another one.
//
// Containers "run" in memory, following their command (sleep 3, true, sh -c "exit 1") or a
// script in an annotation (see the package runtime/memory), so nothing is needed but an API
// server. With --runtime cri they are real ones, of a containerd, which takes root. Without
// a kubeconfig it says how to get one, and ends.
//
// The node's API is served on port 10250 for kubectl logs, exec, attach, cp and port-forward,
// to those whom the API server allows it. The API server's own client certificate needs
// --client-ca-file; without it these commands do not work, and only the machine itself
// reaches the port.
//
// A line per change of a pod goes to standard output, the log to standard error; a message
// that repeats is logged once a minute. The first SIGINT or SIGTERM ends it with status 0 and
// leaves containers as they are; a second one kills it. Bad arguments end it with status 2, a
// failure of the node with status 1.
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

// run is main without the process around it. It returns the status of the process.
// Output that nothing reads keeps neither the node nor its end waiting.
func run(ctx context.Context, args []string, out, logs io.Writer) int {
	lines, log := command.NewBuffered(out, reportDropped), command.NewBuffered(logs, reportDropped)
	defer func() { lines.Flush(lastLines); log.Flush(lastLines) }()
	out, logs = lines, log
	return command.Run(program, args, out, logs, define, (*options).complete, func(o *options) error { return join(ctx, o, out, logs) })
}

// lastLines is how long the readers of the output, and of the log, may hold up the end each.
const lastLines = time.Second

// reportDropped writes how many lines were dropped.
func reportDropped(to io.Writer, lines int) {
	fmt.Fprintf(to, "... %d lines were dropped, because nothing read them\n", lines)
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
	server, err := o.connect()
	if err != nil {
		return err
	}
	find := func(ctx context.Context) []string { return localIPs(ctx, server, net.InterfaceAddrs) }
	if o.certified = o.ips; len(o.ips) == 0 {
		o.certified = find(ctx)
	}
	log := slog.New(newCalm(logs))
	config, err := o.config(server, log)
	config.LocalIPs = find
	defer o.claimed.Close() // It may be nil.
	if err != nil {
		return err
	}
	n, err := cluster.New(config)
	if err != nil {
		return err
	}
	o.metrics.Observe(n.Node())
	serve, err := o.listen(n, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "joining as node %s, runtime %s\n%s\n", o.name, o.runtime, o.served())
	watching, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := serve(watching); err != nil {
			log.Error("The node's API is not served any more", "err", err)
		}
	})
	lines := &lines{Writer: command.Visible(out)}
	beside.Go(func() { registered(watching, n, server, o.name, lines) })
	beside.Go(func() {
		printed := map[types.UID]string{}
		for state := range n.Node().Watch(watching) {
			if line, news := line(printed, state); news {
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

// connect makes the client of the API server. Its requests are counted.
func (o *options) connect() (server *client.Client, err error) {
	counted, err := o.counted()
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

// lines lets several goroutines write.
type lines struct {
	sync.Mutex
	io.Writer
}

// Write implements io.Writer.
func (l *lines) Write(text []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Writer.Write(text)
}

// registered prints that the node is registered, and before it what a person may do about a
// server that refuses the first request or does not answer. It ends with ctx.
func registered(ctx context.Context, n *cluster.Node, server apiserver.Server, name string, out io.Writer) {
	const limit = 10 * time.Second
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := server.Nodes().Get(bounded, name)
	if advice := explain(err, name); advice != "" && ctx.Err() == nil {
		fmt.Fprintf(out, "not registered, and tried again: %s\n", advice)
	}
	if n.WaitForRegistration(ctx) == nil {
		fmt.Fprintf(out, "node %s is registered\n", name)
	}
}

// explain says what a person can do about the answer to the first request; empty if nothing
// is wrong with it.
func explain(err error, name string) string {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ""
	case apierrors.IsUnauthorized(err):
		return "the API server does not know the user of the kubeconfig: use newer credentials"
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the user of the kubeconfig may not act as node %s: it has to be system:node:%s of the group system:nodes, and --hostname-override has to name its node", name, name)
	case apierrors.ReasonForError(err) == "":
		return fmt.Sprintf("the API server does not answer: see whether the kubeconfig has its address and certificate: %v", withoutQuery(slog.AnyValue(err)))
	}
	return err.Error()
}
