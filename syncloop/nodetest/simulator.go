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

// maxVirtualWait is how much virtual time passes at most while something is waited for.
const maxVirtualWait = 24 * time.Hour

// stallLimit is how long one step may take in real time. A step is what happens
// from one wait to the next, which is microseconds.
const stallLimit = 20 * time.Second

// simulator is what several nodes share.
type simulator struct {
	t             testing.TB
	seed          uint64
	scheduler     *executor.Scheduler
	nodes         []*Simulation
	failed        bool // the test had failed before the simulation began
	logged        bool // its transcript
	cleanupTarget *testCleanup
}

// testCleanup is what the end of the test looks at: nothing, once all nodes have
// stopped, so that a test may have many simulations one after another.
type testCleanup struct{ sim *simulator }

func newSimulator(t testing.TB, seed uint64) *simulator {
	t.Helper()
	s := &simulator{t: t, seed: seed, scheduler: executor.NewScheduler(seed, Epoch), failed: t.Failed(), cleanupTarget: &testCleanup{}}
	s.scheduler.Guard(stallLimit, s.failStalled)
	s.scheduler.LetDriverWait(s.failHopelessWait)
	w := s.cleanupTarget
	t.Cleanup(func() {
		t.Helper()
		if w.sim != nil {
			w.sim.cleanup()
		}
	})
	return s
}

// addNode starts a node on a machine of its own.
func (s *simulator) addNode(config Config) *Simulation {
	s.t.Helper()
	b := &Simulation{simulator: s, config: config, machineProcess: s.scheduler.NewProcess()}
	b.trace = newTrace(s.scheduler.Now)
	b.trace.details = config.Details
	b.trace.enableTimelines(config.Timelines)
	if config.Wrap == nil && config.Runtime == nil {
		b.trace.mu.rules.timing = newTimingRules()
	}
	if config.Runtime != nil {
		b.ownRuntime = config.Runtime(b.machineProcess.Clock())
		b.trace.podStatus = podStatusReader(executor.Into(context.Background(), b.machineProcess), b.ownRuntime)
	} else {
		b.machine = memory.New(memory.Config{Clock: b.machineProcess.Clock(), Hooks: memory.Hooks{CallContext: b.trace.recordCall}})
		b.trace.podStatus = b.machine.SnapshotStatus
	}
	s.nodes = append(s.nodes, b)
	b.Start()
	return b
}

// newRuntime is what a node's process sees of its machine.
func (b *Simulation) runtimeForNode(p *executor.Process) runtime.Runtime {
	if b.ownRuntime == nil {
		return b.machine.WithClock(p.Clock())
	}
	return newRecordingRuntime(b.ownRuntime, p.Clock(), b.trace, p.Yield)
}

// podStatusReader asks a runtime how a pod is, for the checks.
func podStatusReader(ctx context.Context, rt runtime.Runtime) func(types.UID) *runtime.PodStatus {
	return func(uid types.UID) *runtime.PodStatus {
		st, err := rt.PodStatus(ctx, uid)
		if err != nil || st == nil {
			return &runtime.PodStatus{UID: uid}
		}
		return st
	}
}

// isAnyNodeRunning reports whether any node runs.
func (s *simulator) isAnyNodeRunning() bool {
	for _, b := range s.nodes {
		if b.process != nil {
			return true
		}
	}
	return false
}

// releaseIfStopped lets the test forget a simulation whose nodes have all been stopped.
func (s *simulator) releaseIfStopped() {
	if s.isAnyNodeRunning() {
		return
	}
	s.logTranscript()
	s.cleanupTarget.sim = nil
}

// requireNodeForTime fails the test if time is to pass and the last node was stopped.
func (b *Simulation) requireNodeForTime(method string) {
	b.t.Helper()
	if b.stopped && !b.isAnyNodeRunning() {
		b.t.Fatalf("nodetest: %s after Stop: no node runs any more. Start starts another on the same machine; to look at the end of a node, do so before Stop.", method)
	}
}

// driveAndReport runs f, which drives the simulation. What that shows to be wrong with the
// test, or with what it has put into the simulation, fails the test.
func (s *simulator) driveAndReport(f func()) {
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

func (s *simulator) failStalled(stack string) {
	s.t.Helper()
	s.t.Fatal("nodetest: something in the simulation waits for something outside it, and nothing can go on. " +
		"What a test puts into a simulation, as a runtime, a checker or a hook, waits by podworkers.Wait(ctx, d) with the context of its call: " +
		"not on channels, conditions, timers or the clock of the machine, and it holds no lock while it waits.\n" + stack)
}

func (s *simulator) failHopelessWait(reason error) {
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
	s.logTranscript()
	if s.scheduler.Stalled() {
		return
	}
	for _, b := range s.nodes {
		if b.process != nil {
			b.process.Crash()
		}
	}
}

// maxLoggedBytes is how much of a transcript is logged, from its end.
const maxLoggedBytes = 64 << 10

// podLog logs the transcript if the test has failed meanwhile.
func (s *simulator) logTranscript() {
	if !s.t.Failed() || s.failed || s.logged {
		return
	}
	s.logged = true
	text, head := s.transcriptOfAll(), "The transcript:"
	if len(text) > maxLoggedBytes {
		text, head = text[len(text)-maxLoggedBytes:], fmt.Sprintf("The last %d bytes of the transcript:", maxLoggedBytes)
	}
	s.t.Logf("%s\n%s", head, text)
	saveTimelines(s.t, s.timelines)
}

// transcriptOfAll is what happened on all nodes.
func (s *simulator) transcriptOfAll() string {
	if len(s.nodes) == 1 {
		return s.nodes[0].trace.String()
	}
	var all strings.Builder
	for _, b := range s.nodes {
		fmt.Fprintf(&all, "node %s\n%s", b.nodeName(), b.trace.String())
	}
	return all.String()
}
