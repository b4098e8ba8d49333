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

// maxVirtualWait is the maximum virtual time that a call waits for a condition.
const maxVirtualWait = 24 * time.Hour

// stallLimit is the maximum real time of one step. A step normally takes microseconds.
const stallLimit = 20 * time.Second

// simulator is shared by the nodes of a simulation.
type simulator struct {
	t             testing.TB
	seed          uint64
	scheduler     *executor.Scheduler
	nodes         []*Simulation
	failed        bool // the test had failed before the simulation began
	logged        bool // the transcript was logged
	cleanupTarget *testCleanup
}

// testCleanup refers to the simulation that is cleaned up at the end of the test. It is nil after all
// nodes have stopped, so that a test with many simulations does not keep them in memory.
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

// runtimeForNode returns the runtime that a node's process uses. Its calls fail when that process
// crashes.
func (b *Simulation) runtimeForNode(p *executor.Process) runtime.Runtime {
	if b.ownRuntime == nil {
		return b.machine.WithClock(p.Clock())
	}
	return newRecordingRuntime(b.ownRuntime, p.Clock(), b.trace, p.Yield)
}

// podStatusReader returns a function that reads the status of a pod from a runtime, for the checks.
// After an error the status is empty.
func podStatusReader(ctx context.Context, rt runtime.Runtime) func(types.UID) *runtime.PodStatus {
	return func(uid types.UID) *runtime.PodStatus {
		st, err := rt.PodStatus(ctx, uid)
		if err != nil || st == nil {
			return &runtime.PodStatus{UID: uid}
		}
		return st
	}
}

// isAnyNodeRunning reports whether a node of the simulation runs.
func (s *simulator) isAnyNodeRunning() bool {
	for _, b := range s.nodes {
		if b.process != nil {
			return true
		}
	}
	return false
}

// releaseIfStopped removes the simulation from the cleanup of the test if all its nodes have stopped.
func (s *simulator) releaseIfStopped() {
	if s.isAnyNodeRunning() {
		return
	}
	s.logTranscript()
	s.cleanupTarget.sim = nil
}

// requireNodeForTime fails the test if the last node was stopped, because time does not pass then.
func (b *Simulation) requireNodeForTime(method string) {
	b.t.Helper()
	if b.stopped && !b.isAnyNodeRunning() {
		b.t.Fatalf("nodetest: %s after Stop: no node runs any more. Start starts another on the same machine; to look at the end of a node, do so before Stop.", method)
	}
}

// driveAndReport runs f, which runs steps of the simulation, and fails the test for each fault that the
// steps have found.
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

// catchFault calls f and returns the executor.Fault with which f panics, or nil.
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

// failStalled fails the test because a step does not return.
func (s *simulator) failStalled(stack string) {
	s.t.Helper()
	s.t.Fatal("nodetest: something in the simulation waits for something outside it, and nothing can go on. " +
		"What a test puts into a simulation, as a runtime, a checker or a hook, waits by podworkers.Wait(ctx, d) with the context of its call: " +
		"not on channels, conditions, timers or the clock of the machine, and it holds no lock while it waits.\n" + stack)
}

// failHopelessWait fails the test because the condition for which the test waits cannot occur.
func (s *simulator) failHopelessWait(reason error) {
	s.t.Helper()
	s.t.Fatalf("nodetest: the test waits for a condition%s that does not occur: %v. Let it occur before the call, or wait with Go while the test continues.", findTestLine(), reason)
}

// cleanup stops the nodes that still run at the end of a test. If the test has failed, the nodes may be
// in any state, and cleanup crashes them instead.
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

// maxLoggedBytes is the maximum length of a logged transcript. The end of the transcript is logged.
const maxLoggedBytes = 64 << 10

// logTranscript logs the transcript once if the test has failed during the simulation.
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

// transcriptOfAll returns the transcripts of all nodes.
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
