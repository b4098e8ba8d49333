package nodetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// mostTime is how much virtual time passes at most while something is waited for.
const mostTime = 24 * time.Hour

// stallLimit is how long one step may take in real time. A step is what happens
// from one wait to the next, which is microseconds.
const stallLimit = 20 * time.Second

// simulator is what several nodes share.
type simulator struct {
	t         testing.TB
	seed      uint64
	scheduler *executor.Scheduler
	nodes     []*Simulation
	failed    bool // the test had failed before the simulation began
	logged    bool // its transcript
	watch     *atEnd
}

// atEnd is what the end of the test looks at: nothing, once all nodes have
// stopped, so that a test may have many simulations one after another.
type atEnd struct{ sim *simulator }

func newSimulator(t testing.TB, seed uint64) *simulator {
	t.Helper()
	s := &simulator{t: t, seed: seed, scheduler: executor.NewScheduler(seed, Epoch), failed: t.Failed(), watch: &atEnd{}}
	s.scheduler.Guard(stallLimit, s.stalled)
	s.scheduler.LetDriverWait(s.hopeless)
	w := s.watch
	t.Cleanup(func() {
		t.Helper()
		if w.sim != nil {
			w.sim.cleanup()
		}
	})
	return s
}

// add starts a node on a machine of its own.
func (s *simulator) add(config Config) *Simulation {
	s.t.Helper()
	b := &Simulation{simulator: s, config: config, outside: s.scheduler.NewProcess()}
	b.trace = newTrace(s.scheduler.Now)
	b.trace.details = config.Details
	b.trace.keep(config.Timelines)
	if config.Wrap == nil && config.Runtime == nil {
		b.trace.mu.rules.strict = newStrict()
	}
	if config.Runtime != nil {
		b.own = config.Runtime(b.outside.Clock())
		b.trace.look = lookAt(executor.Into(context.Background(), b.outside), b.own)
	} else {
		b.machine = memory.New(memory.Config{Clock: b.outside.Clock(), Hooks: memory.Hooks{CallContext: b.trace.call}})
		b.trace.look = b.machine.SnapshotStatus
	}
	s.nodes = append(s.nodes, b)
	b.Start()
	return b
}

// runtime is what a node's process sees of its machine.
func (b *Simulation) runtime(p *executor.Process) runtime.Runtime {
	if b.own == nil {
		return b.machine.WithClock(p.Clock())
	}
	return observe(b.own, p.Clock(), b.trace, p.Yield)
}

// lookAt asks a runtime how a pod is, for the checks.
func lookAt(ctx context.Context, rt runtime.Runtime) func(types.UID) *runtime.PodStatus {
	return func(uid types.UID) *runtime.PodStatus {
		st, err := rt.PodStatus(ctx, uid)
		if err != nil || st == nil {
			return &runtime.PodStatus{UID: uid}
		}
		return st
	}
}

// running reports whether any node runs.
func (s *simulator) running() bool {
	for _, b := range s.nodes {
		if b.process != nil {
			return true
		}
	}
	return false
}

// released lets the test forget a simulation whose nodes have all been stopped.
func (s *simulator) released() {
	if s.running() {
		return
	}
	s.log()
	s.watch.sim = nil
}

// mustMove fails the test if time is to pass and the last node was stopped.
func (b *Simulation) mustMove(method string) {
	b.t.Helper()
	if b.stopped && !b.running() {
		b.t.Fatalf("nodetest: %s after Stop: no node runs any more. Start starts another on the same machine; to look at the end of a node, do so before Stop.", method)
	}
}

// drive runs f, which drives the simulation. What that shows to be wrong with the
// test, or with what it has put into the simulation, fails the test.
func (s *simulator) drive(f func()) {
	s.t.Helper()
	fault := catchFault(f)
	for _, b := range s.nodes {
		b.trace.faults.report(s.t)
	}
	if fault != nil {
		s.t.Fatalf("nodetest: %v", fault)
	}
}

// catchFault calls f and returns the fault with which it panics.
func catchFault(f func()) (fault error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		var of *executor.Fault
		err, ok := v.(error)
		if !ok || !errors.As(err, &of) {
			panic(v)
		}
		fault = err
	}()
	f()
	return nil
}

func (s *simulator) stalled(stack string) {
	s.t.Helper()
	s.t.Fatal("nodetest: something in the simulation waits for something outside it, and nothing can go on. " +
		"What a test puts into a simulation, as a runtime, a checker or a hook, waits by podworkers.Wait(ctx, d) with the context of its call: " +
		"not on channels, conditions, timers or the clock of the machine, and it holds no lock while it waits.\n" + stack)
}

func (s *simulator) hopeless(reason error) {
	s.t.Helper()
	s.t.Fatalf("nodetest: what the test waits for%s does not come: %v. Let it happen first, or wait for it with Go while the test goes on.", testLine(), reason)
}

// cleanup is the end of a test that has not stopped its nodes. They are stopped, unless the test
// has failed: then they may be in any state, and end where they stand.
func (s *simulator) cleanup() {
	s.t.Helper()
	for _, b := range s.nodes {
		b.trace.faults.report(s.t)
		if !s.t.Failed() {
			b.Stop()
		}
	}
	s.log()
	if s.scheduler.Stalled() {
		return
	}
	for _, b := range s.nodes {
		if b.process != nil {
			b.process.Crash()
		}
	}
}

// mostLogged is how much of a transcript is logged, from its end.
const mostLogged = 64 << 10

// log logs the transcript if the test has failed meanwhile.
func (s *simulator) log() {
	if !s.t.Failed() || s.failed || s.logged {
		return
	}
	s.logged = true
	text, head := s.transcript(), "The transcript:"
	if len(text) > mostLogged {
		text, head = text[len(text)-mostLogged:], fmt.Sprintf("The last %d bytes of the transcript:", mostLogged)
	}
	s.t.Logf("%s\n%s", head, text)
	saveTimelines(s.t, s.timelines)
}

// transcript is what happened on all nodes.
func (s *simulator) transcript() string {
	if len(s.nodes) == 1 {
		return s.nodes[0].trace.String()
	}
	var all strings.Builder
	for _, b := range s.nodes {
		fmt.Fprintf(&all, "node %s\n%s", b.name(), b.trace.String())
	}
	return all.String()
}
