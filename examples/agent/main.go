// Command agent runs a directory of ordinary Pod manifests, as a kubelet without an API server does, and prints the
// changes of the pods:
//
//	go run ./examples/agent                            # the embedded examples
//	go run ./examples/agent --manifests /etc/manifests # yours
//	go run ./examples/agent --manifests /etc/manifests --runtime cri
//
// It needs only Go: containers are simulated in memory. They follow the command of the manifest (sleep 3, true, sh -c
// "exit 1") or a script in an annotation (see the package runtime/memory). With --runtime cri the containers are real
// containers of a containerd, which requires root. Files may be added, changed and removed while the agent runs.
//
// On a terminal the agent shows a table with a row for each pod, which is redrawn in place, below the lines of the log
// and the events. Otherwise it prints one line per change to standard output, like kubectl get pods -w, and the log and
// events to standard error. If the reader of standard output exits, the agent continues without it.
//
// Other commands list the pods of a running agent, explain the state of a pod, and print the logs of its containers.
// With --exec they also run commands in containers:
//
//	go run ./examples/agent ps
//	go run ./examples/agent explain web
//	go run ./examples/agent logs --follow web
//	go run ./examples/agent exec web -- sh -c "exit 3"
//
// The command run needs no other agent. It runs the pods of files in the foreground, and exits with the exit code of
// the container that failed first:
//
//	go run ./examples/agent run job.yaml
//
// --config reads the configuration file of a kubelet; SIGHUP reads it again. Under systemd the agent reports when it is
// ready, and notifies the watchdog: see podkeel.service.
//
// The first SIGINT or SIGTERM stops the agent with exit code 0. With --on-exit stop it first stops all pods within
// their grace periods. A second signal kills the pods within seconds. A third exits within a second, whatever is
// blocked. A signal within 0.1 s of another one counts as the same signal. If pods are left behind, the agent exits
// with code 1 and names them. Bad arguments exit with code 2 and a sentence for each fault, a failure of the node with
// code 1.
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
	// A closed pipe must fail only that write, and not terminate the agent.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], filterSignalsOrForceExit(signals, os.Exit), asTerminal(os.Stdout), asTerminal(os.Stderr)))
}

// gcPercent makes the garbage collector run when the heap has grown by a quarter. The heap of an
// agent with 30 pods has one megabyte in use, so a collection is cheap, and without this the
// process keeps over two megabytes more. The environment variable GOGC overrides it.
const gcPercent = 25

// duplicateSignalGap is the time within which two signals count as one. timeout(1) sends a signal to its command and
// then to the whole process group.
const duplicateSignalGap = 100 * time.Millisecond

// lastSignal is the number of signals after which the process exits in any case. exitDelay is how long the agent may
// still take then.
const lastSignal, exitDelay = 3, time.Second

// filterSignalsOrForceExit forwards at most lastSignal signals. It drops a signal that comes within
// duplicateSignalGap after the last forwarded one. exitDelay after the last one it calls exit, because the
// agent may be blocked in a write that no process reads.
func filterSignalsOrForceExit(signals <-chan os.Signal, exit func(status int)) <-chan os.Signal {
	out := make(chan os.Signal, lastSignal)
	go func() {
		defer close(out)
		var last time.Time
		passed := 0
		for s := range signals {
			now := time.Now()
			if now.Sub(last) < duplicateSignalGap || passed == lastSignal {
				continue
			}
			last = now
			out <- s // The channel has room for all.
			if passed++; passed == lastSignal {
				time.AfterFunc(exitDelay, func() { exit(exitFailed) })
			}
		}
	}()
	return out
}

// The exit codes of the agent.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// exitInterrupted is the exit code of a command that was interrupted by a signal.
	exitInterrupted = 130
)

// run runs the command of a command line and returns the exit code. Tests call it without a process.
func run(args []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	p := &program{args: args, signals: signals, stdout: stdout, stderr: stderr}
	return p.execute()
}

// runAgent creates the agent for a directory of manifests and runs it until it stops. It returns exitUsage if
// the agent cannot be created. It returns exitFailed if the agent fails later. In all other cases it returns
// exitOK.
func (p *program) runAgent(o *options, line *commandLine) int {
	err := o.applyAgentCommandLine(line)
	o.args = p.args
	var a *agent
	if err == nil {
		a, err = newAgent(*o, p.stdout, p.stderr)
	}
	if err != nil {
		printErrors(p.stderr, err)
		return exitUsage
	}
	if err := a.runUntilStopped(p.signals); err != nil {
		printErrorsWithTimeLimit(p.stderr, err)
		return exitFailed
	}
	return exitOK
}
