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
// its containers print; with --exec, it runs commands in them:
//
//	go run ./examples/agent ps
//	go run ./examples/agent explain web
//	go run ./examples/agent logs --follow web
//	go run ./examples/agent exec web -- sh -c "exit 3"
//
// Without another agent it runs the pods of files in the foreground, and ends with
// the exit code of the container that failed first:
//
//	go run ./examples/agent run job.yaml
//
// A configuration file of a kubelet serves with --config; SIGHUP reads it again. Under
// systemd the agent tells when it is ready and that it lives: see podkeel.service.
//
// The first SIGINT or SIGTERM ends it gently, with status 0: with --on-exit stop
// all pods are ended first, each within its grace. A second signal kills them within
// seconds, a third ends the process within a second, whatever is stuck. A signal that comes within 0.1 s after
// another is the same one. If pods are left behind it ends with
// status 1 and says which. Bad arguments end it with status 2
// and a sentence for each fault, a failure of the node with status 1.
package main

import (
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// A closed pipe is an error of that write and does not end the agent.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], distinct(signals, os.Exit), asTerminal(os.Stdout), asTerminal(os.Stderr)))
}

// gcPercent makes the garbage collector run when the heap has grown by a quarter. The heap of an
// agent with 30 pods has one megabyte in use, so a collection is cheap, and without this the
// process keeps over two megabytes more. The environment variable GOGC overrides it.
const gcPercent = 25

// duplicateGap is how close together signals are taken for one. timeout(1) sends one to
// its command and then to the whole process group; no person is that fast.
const duplicateGap = 100 * time.Millisecond

// lastSignal is the signal after which the process exits whatever happens, and exitDelay how long the
// agent may still take then.
const lastSignal, exitDelay = 3, time.Second

// distinct passes signals on, without those that come within the gap after the last one that was
// passed on. Some time after the third it calls exit, because the agent may be stuck, say in a write to
// standard output that nothing reads.
func distinct(signals <-chan os.Signal, exit func(status int)) <-chan os.Signal {
	out := make(chan os.Signal, lastSignal)
	go func() {
		defer close(out)
		var last time.Time
		passed := 0
		for s := range signals {
			now := time.Now()
			if now.Sub(last) < duplicateGap || passed == lastSignal {
				continue
			}
			last = now
			out <- s // There is room for all.
			if passed++; passed == lastSignal {
				time.AfterFunc(exitDelay, func() { exit(exitFailed) })
			}
		}
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
	p := &program{args: args, signals: signals, stdout: stdout, stderr: stderr}
	return p.execute()
}

// runAgent runs a directory of manifests, and returns the status to end with.
func (p *program) runAgent(o *options, line *commandLine) int {
	err := o.readAgent(line)
	o.args = p.args
	var a *agent
	if err == nil {
		a, err = newAgent(*o, p.stdout, p.stderr)
	}
	if err != nil {
		complain(p.stderr, err)
		return exitUsage
	}
	if err := a.run(p.signals); err != nil {
		complainAtEnd(p.stderr, err)
		return exitFailed
	}
	return exitOK
}
