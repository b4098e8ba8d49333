// Command agent runs a directory of ordinary Pod manifests, as a kubelet without
// an API server would, and prints what becomes of them:
//
//	go run ./examples/agent                            # the embedded examples
//	go run ./examples/agent --manifests /etc/manifests # yours
//	go run ./examples/agent --manifests /etc/manifests --runtime cri
//
// It needs nothing but Go: containers "run" in memory, on the clock, following
// the command of the manifest (sleep 3, true, sh -c "exit 1") or a script in an
// annotation (see the package runtime/memory). With --runtime cri they are real
// ones, of a containerd, which takes root. Files may be added, changed and removed
// while it runs.
//
// On a terminal it shows a table with a row for each pod that is redrawn in
// its place, below the lines of the log and the events. Otherwise one line per
// change goes to standard output, in the manner of kubectl get pods -w, and log
// and events to standard error. If the reader of the lines has gone the agent
// continues without them.
//
// While it runs, it can be asked what there is, why a pod is as it is, and what
// its containers print; with --exec true, it runs commands in them:
//
//	go run ./examples/agent ps
//	go run ./examples/agent explain default/web-node
//	go run ./examples/agent logs --follow default/web-node
//	go run ./examples/agent exec default/web-node -- sh -c "exit 3"
//
// The first SIGINT or SIGTERM ends it gently, with status 0: with --on-exit stop
// all pods are ended first, each within its grace. A second signal kills them within
// seconds, a third does not wait for anything. A signal that comes within 0.1 s after
// another is the same one. If pods are left behind it ends with
// status 1 and says which. Bad arguments end it with status 2
// and a sentence for each fault, a failure of the node with status 1.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/podkeel/podkeel/internal/plain"
)

func main() {
	// A closed pipe is an error of that write and does not end the agent.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], distinct(signals), asTerminal(os.Stdout), asTerminal(os.Stderr)))
}

// duplicateGap is how close together signals are taken for one. timeout(1) sends one to
// its command and then to the whole process group; no person is that fast.
const duplicateGap = 100 * time.Millisecond

// distinct passes signals on, without those that come within the gap after the last one
// that was passed on.
func distinct(signals <-chan os.Signal) <-chan os.Signal {
	out := make(chan os.Signal, cap(signals))
	go func() {
		var last time.Time
		for s := range signals {
			if now := time.Now(); now.Sub(last) >= duplicateGap {
				last = now
				out <- s
			}
		}
		close(out)
	}()
	return out
}

// The statuses with which the agent ends.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// exitInterrupted is that of a command which a signal has ended.
	exitInterrupted = 130
)

// run is main without the process around it.
func run(args []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	if v, ok := commandOf(args); ok {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		go func() {
			select {
			case <-signals:
				end()
			case <-ctx.Done():
			}
		}()
		return v.run(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args)
	var a *agent
	if err == nil {
		a, err = newAgent(o, stdout, stderr)
	}
	if status, bad := refused(err, stdout, stderr); bad {
		return status
	}
	if err := a.run(signals); err != nil {
		complain(stderr, err)
		return exitFailed
	}
	return exitOK
}

// complain says each of several joined errors on a line of its own.
func complain(w io.Writer, err error) {
	for line := range strings.SplitSeq(plain.Text(err.Error()), "\n") {
		fmt.Fprintf(w, "agent: %s\n", line)
	}
}
