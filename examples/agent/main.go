// Command agent runs a directory of ordinary Pod manifests, as a kubelet without
// an API server would, and prints what becomes of them:
//
//	go run ./examples/agent                            # the embedded examples
//	go run ./examples/agent --manifests /etc/manifests # yours
//
// It needs nothing but Go: containers "run" in memory, on the clock, following
// the command of the manifest (sleep 3, true, sh -c "exit 1") or a script in an
// annotation (see the package runtime/memory). Files may be added, changed and
// removed while it runs.
//
// One line per change goes to standard output, the log to standard error.
// SIGINT and SIGTERM end it with status 0, a second one at once. Bad arguments
// end it with status 2.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], signals, os.Stdout, os.Stderr))
}

// The statuses with which the agent ends.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// run is main without the process around it.
func run(args []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, errHelp) {
		return exitOK
	}
	var a *agent
	if err == nil {
		a, err = newAgent(o, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "agent: %v\n", err)
		return exitUsage
	}
	if err := a.run(context.Background(), signals); err != nil {
		fmt.Fprintf(stderr, "agent: %v\n", err)
		return exitFailed
	}
	return exitOK
}
