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
	s.scheduler.Guard(stallLimit, s.failTestForStall)
	s.scheduler.LetDriverWait(s.failTestForHopelessWait)
	w := s.cleanupTarget
	t.Cleanup(func() {
		t.Helper()
		if w.sim != nil {
			w.sim.stopOrCrashNodes()
		}
	})
	return s
}

// addAndStartNode adds a node with its own runtime and transcript to the simulation, and starts the node. Times
// are checked only if the Config has neither a runtime nor a wrapper for it.
func (s *simulator) addAndStartNode(config Config) *Simulation {
	s.t.Helper()
	b := &Simulation{simulator: s, config: config, machineProcess: s.scheduler.NewProcess()}
	b.trace = newTrace(s.scheduler.Now)
	b.trace.details = config.Details
	b.trace.enableTimelinesIfRequested(config.Timelines)
	if config.Wrap == nil && config.Runtime == nil {
		b.trace.mu.rules.timing = newTimingRules()
	}
	if config.Runtime != nil {
		b.ownRuntime = config.Runtime(b.machineProcess.Clock())
		b.trace.podStatus = newPodStatusReader(executor.Into(context.Background(), b.machineProcess), b.ownRuntime)
	} else {
		b.machine = memory.New(memory.Config{Clock: b.machineProcess.Clock(), Hooks: memory.Hooks{CallContext: b.trace.recordAndCheckCall}})
		b.trace.podStatus = b.machine.SnapshotStatus
	}
	s.nodes = append(s.nodes, b)
	b.Start()
	return b
}

// runtimeForNode returns the runtime that the node of a simulated process uses. Its calls fail when that
// process crashes.
func (b *Simulation) runtimeForNode(p *executor.Process) runtime.Runtime {
	if b.ownRuntime == nil {
		return b.machine.WithClock(p.Clock())
	}
	return newRecordingRuntime(b.ownRuntime, p.Clock(), b.trace, p.Yield)
}

// newPodStatusReader returns a function that reads the status of a pod from a runtime. After an error the
// function returns a status with only the UID.
func newPodStatusReader(ctx context.Context, rt runtime.Runtime) func(types.UID) *runtime.PodStatus {
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

// logAndDetachCleanupIfAllStopped does nothing while a node runs. If all nodes have stopped, it logs the
// transcript if the test has failed, and detaches the simulation from the test's cleanup, so that its memory
// can be freed.
func (s *simulator) logAndDetachCleanupIfAllStopped() {
	if s.isAnyNodeRunning() {
		return
	}
	s.logTranscriptOnceIfFailed()
	s.cleanupTarget.sim = nil
}

// requireNodeForTime ends the test as failed if this node was stopped and no node of the simulation runs,
// because time does not pass then. method is named in the failure.
func (b *Simulation) requireNodeForTime(method string) {
	b.t.Helper()
	if b.stopped && !b.isAnyNodeRunning() {
		b.t.Fatalf("nodetest: %s after Stop: no node runs any more. Start starts another on the same machine; to look at the end of a node, do so before Stop.", method)
	}
}

// runAndReportFaults runs f, which runs steps of the simulation, and then marks the test as failed with each
// fault of a node. If the simulation itself cannot continue, it ends the test.
func (s *simulator) runAndReportFaults(f func()) {
	s.t.Helper()
	fault := callAndCatchFault(f)
	for _, b := range s.nodes {
		b.trace.faults.reportAndClear(s.t)
	}
	if fault != nil {
		s.t.Fatalf("nodetest: %v", fault)
	}
}

// callAndCatchFault calls f. If f panics with an *executor.Fault, it returns the fault; it does not catch other
// panics.
func callAndCatchFault(f func()) (fault error) {
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

// failTestForStall ends the test as failed because a step of the simulation does not return. The failure says
// how code in a simulation must wait.
func (s *simulator) failTestForStall(stack string) {
	s.t.Helper()
	s.t.Fatal("nodetest: something in the simulation waits for something outside it, and nothing can go on. " +
		"What a test puts into a simulation, as a runtime, a checker or a hook, waits by podworkers.Wait(ctx, d) with the context of its call: " +
		"not on channels, conditions, timers or the clock of the machine, and it holds no lock while it waits.\n" + stack)
}

// failTestForHopelessWait ends the test as failed because the test waits for a condition that cannot occur.
func (s *simulator) failTestForHopelessWait(reason error) {
	s.t.Helper()
	s.t.Fatalf("nodetest: the test waits for a condition%s that does not occur: %v. Let it occur before the call, or wait with Go while the test continues.", findTestLine(), reason)
}

// stopOrCrashNodes ends a test: it reports the faults of the nodes, stops the nodes that still run, and logs
// the transcript of a failed test. If the test has failed, it crashes the nodes instead of stopping them,
// unless the simulation is stalled.
func (s *simulator) stopOrCrashNodes() {
	s.t.Helper()
	for _, b := range s.nodes {
		b.trace.faults.reportAndClear(s.t)
		if !s.t.Failed() {
			b.Stop()
		}
	}
	s.logTranscriptOnceIfFailed()
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

// logTranscriptOnceIfFailed logs the transcript if the test has failed since the simulation began, and saves
// the timelines if the test flag asks for it. It logs at most once, and only the end of a long transcript.
func (s *simulator) logTranscriptOnceIfFailed() {
	if !s.t.Failed() || s.failed || s.logged {
		return
	}
	s.logged = true
	text, head := s.transcriptOfAll(), "The transcript:"
	if len(text) > maxLoggedBytes {
		text, head = text[len(text)-maxLoggedBytes:], fmt.Sprintf("The last %d bytes of the transcript:", maxLoggedBytes)
	}
	s.t.Logf("%s\n%s", head, text)
	saveTimelinesIfFlagSet(s.t, s.timelines)
}

// transcriptOfAll returns the transcripts of all nodes, each under the name of the node. The transcript of a
// single node has no name.
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
