//go:build linux

// Command figures takes the times, the memory and the processor time that an
// agent needs on a real containerd, beside what the bare CRI calls need for the
// same in the same run, and prints a table of medians:
//
//	go run ./internal/e2e/figures                  # on containerd 2
//	go run ./internal/e2e/figures --containerd 1.6 # without a stream of events
//
// It needs what the end-to-end tests need: root, containerd, runc, the plugins of
// the network, a static busybox. Everything is private and is gone at the end.
//
// The command reads all times from the runtime, over a connection of its own. It reads equally often for the agent and
// for the bare calls, and while they work, because reading takes processor time from them. The start time of a
// container is the time that the runtime recorded. The command queries the agent only to find out whether it lists its
// pods after a restart. Rounds of the agent and of the bare calls alternate, so that both have the same load of the
// machine. The table shows that load beside each figure: on a busy machine only the ratios mean anything.
//
// --parts chooses the figures to take, of single, many, idle, restart and size.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/podkeel/podkeel/internal/e2e"
)

// options are the command line.
type options struct {
	version e2e.Version
	tries   int
	parts   string
	idle    time.Duration
	many    int // pods at once
	full    int // pods over a restart
	verbose bool
	// eviction is the value of --eviction-hard of the agent.
	eviction string
}

func main() {
	o := options{}
	flag.StringVar((*string)(&o.version), "containerd", string(e2e.Containerd2), "`family`: 2 or 1.6")
	flag.IntVar(&o.tries, "tries", 10, "how often each time is taken")
	flag.StringVar(&o.parts, "parts", "size,single,many,idle,restart", "which figures")
	flag.DurationVar(&o.idle, "idle", time.Minute, "how long an idle agent is watched")
	flag.IntVar(&o.many, "many", 30, "how many pods are written at once")
	flag.IntVar(&o.full, "full", 110, "how many pods run over a restart")
	flag.StringVar(&o.eviction, "eviction-hard", "default", "the agent's `thresholds` of evictions; empty for none")
	flag.BoolVar(&o.verbose, "v", false, "print every try")
	flag.Parse()
	r := &run{options: o, interrupt: make(chan os.Signal, 1)}
	signal.Notify(r.interrupt, os.Interrupt, syscall.SIGTERM)
	os.Exit(r.measureSelectedPartsAndCleanUp())
}

// run is one run of the program, and what the package e2e takes for a test.
type run struct {
	options
	interrupt chan os.Signal
	cleanups  []func()
	failed    bool

	harness *harness
	table   table
}

// stopped unwinds what cannot go on.
type stopped struct{}

// measureSelectedPartsAndCleanUp starts the harness, measures the parts that r.parts names, prints the table
// and cleans up. It also cleans up after a failure. It returns 1 if the run has failed, and 0 if not.
func (r *run) measureSelectedPartsAndCleanUp() (status int) {
	defer func() {
		if status = 0; r.failed {
			status = 1
		}
	}()
	defer r.cleanUp()
	defer func() {
		if p := recover(); p != nil && p != (stopped{}) {
			r.failed = true
			r.cleanUp() // Nothing of this must stay, whatever is wrong with the program.
			panic(p)
		}
	}()
	r.harness = newHarness(r)
	for _, part := range []struct {
		name string
		take func()
	}{
		{"size", r.measureProgramSize}, {"single", r.measureSinglePods}, {"many", r.measureManyPods}, {"idle", r.measureIdleAgent}, {"restart", r.measureAgentRestart},
	} {
		if strings.Contains(","+r.parts+",", ","+part.name+",") {
			part.take()
		}
	}
	fmt.Print(r.table.String())
	return 0
}

func (r *run) cleanUp() {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		last()
	}
}

// Helper implements e2e.T.
func (r *run) Helper() {}

// Logf implements e2e.T.
func (r *run) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Fatalf implements e2e.T.
func (r *run) Fatalf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
	panic(stopped{})
}

// Skipf implements e2e.T: a program that cannot do its work has failed.
func (r *run) Skipf(format string, args ...any) { r.Fatalf(format, args...) }

// Cleanup implements e2e.T.
func (r *run) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// Failed implements e2e.T.
func (r *run) Failed() bool { return r.failed }

// logIfVerbose logs a line if the run is verbose.
func (r *run) logIfVerbose(format string, args ...any) {
	if r.verbose {
		r.Logf(format, args...)
	}
}
