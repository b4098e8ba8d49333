package nodetest

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Simulation is a Harness in one thread. The node runs only while the test calls Run, RunUntil,
// RunUntilIdle, Step, StepUntil, Crash, Stop or a method of the node that waits. Only the goroutine of
// the test may call its methods, not code that runs in the simulation.
type Simulation struct {
	*simulator
	config         Config
	machine        *memory.Runtime // nil: ownRuntime runs the containers
	ownRuntime     runtime.Runtime
	machineProcess *executor.Process // runs the runtime, which survives crashes of the node
	trace          *trace

	process *executor.Process // nil while no node runs
	node    *node.Node
	cancel  context.CancelFunc
	ended   bool
	stopped bool // by Stop
	desired []*v1.Pod
}

// New makes a simulation and starts a node in it. It fails the test if the Config is invalid. The node
// does its first step in Run or Step. At the end of the test New's simulation stops the nodes that
// still run, and logs the transcript if the test has failed.
func New(t testing.TB, config Config) *Simulation {
	t.Helper()
	return newSimulator(t, config.Seed).addAndStartNode(config)
}

// AddNode starts another node in the same simulation, on a machine of its own. The nodes share a clock,
// a thread and a transcript, and a method that lets time pass for one node does so for all. The Config
// must have a Node.Name that no other node has, and no Seed, which New has set. The methods of the
// returned Simulation that concern one node, such as Apply, Crash and Stop, concern the added node.
func (b *Simulation) AddNode(config Config) *Simulation {
	b.t.Helper()
	if config.Seed != 0 && config.Seed != b.seed {
		b.t.Fatal("nodetest: AddNode: the seed of a simulation is that of New")
	}
	for _, other := range b.nodes {
		if other.nodeName() == nodeNameOf(config) {
			b.t.Fatalf("nodetest: AddNode: there is a node %q already: give each a Config.Node.Name", other.nodeName())
		}
	}
	return b.addAndStartNode(config)
}

// nodeName returns the name of the simulated node.
func (b *Simulation) nodeName() string { return nodeNameOf(b.config) }

// nodeNameOf returns the name that a node with this Config has: Config.Node.Name in lower case, or localhost if
// it is empty.
func nodeNameOf(config Config) string { return strings.ToLower(cmp.Or(config.Node.Name, "localhost")) }

// Start starts a node on the runtime and applies all desired pods to it, after Crash or Stop. New calls
// it for the first node.
func (b *Simulation) Start() {
	b.t.Helper()
	if b.process != nil {
		b.t.Fatal("nodetest: a node runs already")
	}
	p := b.scheduler.NewProcess()
	config := b.config.nodeConfig(p.Clock(), b.runtimeForNode(p), b.trace)
	discardReportsAfterCrash(&config, p.Crashed)
	n, err := node.New(config)
	if err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
	ctx, end := executor.WithCancel(executor.Into(context.Background(), p))
	b.process, b.node, b.cancel, b.ended, b.stopped = p, n, end, false, false
	b.cleanupTarget.sim = b.simulator
	b.trace.addNoteToTimelines("the agent starts")
	for _, pod := range b.desired {
		b.mustApplyToNode(pod)
	}
	b.trace.faults.reportAndClear(b.t)
	p.Go(func() { b.trace.followNode(ctx, n) })
	p.Go(func() {
		if err := n.Run(ctx); err != nil {
			b.trace.faults.formatAndStoreFault("the node failed: %v", err)
		}
		b.ended = true
	})
}

// Crash discards the node at its present step, as SIGKILL does. The runtime continues, and time may
// pass before Start starts another node.
func (b *Simulation) Crash() {
	b.t.Helper()
	b.requireNode()
	b.process.Crash()
	b.trace.recordCrashAndResetChecks() // The running calls have failed by now.
	b.process, b.node = nil, nil
	b.trace.faults.reportAndClear(b.t)
}

// Stop ends the context of the node's Run and waits until Run has returned, which may take virtual
// time. It fails the test if Run does not return, or if code of the node still runs after that. If no
// node runs, Stop does nothing. After the last node of a simulation was stopped, time passes only after
// another Start.
func (b *Simulation) Stop() {
	b.t.Helper()
	if b.process == nil {
		return
	}
	b.cancel()
	b.runAndReportFaults(func() {
		if err := b.scheduler.RunWhile(b.Now().Add(maxVirtualWait), func() bool { return !b.ended }); err != nil {
			b.trace.faults.formatAndStoreFault("the node does not stop: %v", err)
		}
		b.scheduler.RunUntilIdle()
	})
	if left := b.process.Running(); left > 0 {
		b.trace.faults.formatAndStoreFault("%d coroutines still run after the node has stopped", left)
	}
	b.checkScriptsOfMachine()
	b.trace.recordStopAndResetChecks()
	b.process, b.node, b.stopped = nil, nil, true
	b.trace.faults.reportAndClear(b.t)
	b.logAndDetachCleanupIfAllStopped()
}

// checkScriptsOfMachine adds a fault for each container script of the in-memory runtime that matches no
// container. It does nothing with another runtime.
func (b *Simulation) checkScriptsOfMachine() {
	if b.machine != nil {
		b.trace.checkScriptsSelectContainers(b.machine.ScriptSelectors())
	}
}

// requireNode ends the test as failed if no node runs.
func (b *Simulation) requireNode() {
	b.t.Helper()
	if b.process == nil {
		b.t.Fatal("nodetest: no node runs")
	}
}

// Node implements Harness. It is nil after Crash and Stop. The test may call methods of the node that
// wait, such as Drain, Watch and the Wait of an eviction. Time passes until such a call returns; after
// a day the test fails. Receive from the channels of Ready and Done only in other goroutines: see
// RunUntil.
func (b *Simulation) Node() *node.Node { return b.node }

// Machine implements Harness. It is nil if Config.Runtime is set.
func (b *Simulation) Machine() *memory.Runtime { return b.machine }

// Now returns the time of the simulation.
func (b *Simulation) Now() time.Time { return b.scheduler.Now() }

// Apply implements Harness. While no node runs, the pod is stored for the next node. If the node
// rejects the pod with an error, the test fails.
func (b *Simulation) Apply(pod *v1.Pod) {
	b.t.Helper()
	pod = withUID(pod)
	if err := checkScriptAnnotations(pod); err != nil {
		b.t.Fatalf("nodetest: Apply: %v", err)
	}
	b.removeDesired(pod.UID)
	b.desired = append(b.desired, pod)
	b.trace.recordDesired(pod)
	if b.node != nil {
		b.mustApplyToNode(pod)
	}
}

// mustApplyToNode applies a pod to the running node. It ends the test as failed if the node returns an error,
// and marks the test as failed with each fault found so far.
func (b *Simulation) mustApplyToNode(pod *v1.Pod) {
	b.t.Helper()
	if err := b.node.Apply(pod); err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
	b.trace.faults.reportAndClear(b.t)
}

// Delete implements Harness.
func (b *Simulation) Delete(uid types.UID) {
	b.t.Helper()
	if err := b.trace.checkUIDKnown(uid); err != nil {
		b.t.Fatalf("nodetest: Delete: %v", err)
	}
	b.removeDesired(uid)
	b.trace.recordDeleted(uid)
	if b.node != nil {
		b.node.Delete(uid)
	}
	b.trace.faults.reportAndClear(b.t)
}

// removeDesired removes a pod from the pods that the next node starts with. It does not change the running
// node.
func (b *Simulation) removeDesired(uid types.UID) {
	for i, pod := range b.desired {
		if pod.UID == uid {
			b.desired = append(b.desired[:i:i], b.desired[i+1:]...)
			return
		}
	}
}

// Go runs f as a coroutine of the node's process, for calls that wait while the test continues. f
// begins with the next step, and a crash of the node ends it.
func (b *Simulation) Go(f func()) {
	b.t.Helper()
	b.requireNode()
	b.process.Go(f)
}

// Run implements Harness.
func (b *Simulation) Run(d time.Duration) {
	b.t.Helper()
	b.requireNodeForTime("Run")
	b.runAndReportFaults(func() { b.scheduler.RunUntil(b.Now().Add(d)) })
}

// RunUntil lets time pass, step by step, until cond returns true, and returns how much time has passed.
// It fails the test if cond is still false after a day. RunUntil calls cond on the goroutine of the
// test before every step; cond must not wait.
func (b *Simulation) RunUntil(cond func() bool) time.Duration {
	b.t.Helper()
	b.requireNodeForTime("RunUntil")
	began := b.Now()
	var err error
	b.runAndReportFaults(func() { err = b.scheduler.RunWhile(began.Add(maxVirtualWait), func() bool { return !cond() }) })
	if err != nil {
		b.t.Fatalf("nodetest: RunUntil: after %s the condition still does not hold: %v", b.Now().Sub(began), err)
	}
	return b.Now().Sub(began)
}

// WithTimeout returns a context that ends after d of virtual time, for calls of the test that wait,
// such as Drain. Call the cancel function as usual.
func (b *Simulation) WithTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return b.machineProcess.WithDeadline(executor.Into(context.Background(), b.machineProcess), b.Now().Add(d))
}

// RunUntilIdle runs all code that can run without time passing.
func (b *Simulation) RunUntilIdle() {
	b.t.Helper()
	b.requireNodeForTime("RunUntilIdle")
	b.runAndReportFaults(b.scheduler.RunUntilIdle)
}

// Step runs one coroutine until it waits. If all coroutines wait, time passes until the next timer.
// Step returns false if there is no timer either, so that nothing can happen again.
func (b *Simulation) Step() (stepped bool) {
	b.t.Helper()
	b.requireNodeForTime("Step")
	b.runAndReportFaults(func() {
		if stepped = b.scheduler.Step(); stepped {
			return
		}
		next, ok := b.scheduler.NextTimer()
		if ok {
			b.scheduler.AdvanceTo(next)
		}
		stepped = ok
	})
	return stepped
}

// StepUntil is like Step, but time does not pass beyond t, which must not be in the past. If nothing
// happens before t, the time is t afterwards.
func (b *Simulation) StepUntil(t time.Time) {
	b.t.Helper()
	b.requireNodeForTime("StepUntil")
	b.runAndReportFaults(func() {
		if b.scheduler.Step() {
			return
		}
		if next, ok := b.scheduler.NextTimer(); ok && next.Before(t) {
			t = next
		}
		b.scheduler.AdvanceTo(t)
	})
}

// Steps returns the number of steps so far. A test can crash a node at a certain number.
func (b *Simulation) Steps() int { return b.scheduler.Steps() }

// Timelines returns the drawings of all pods of the node, removed pods included, by name. It is empty
// without Config.Timelines and the test flag -timeline.
func (b *Simulation) Timelines() []timeline.Timeline { return b.trace.timelines() }

// Transcript implements Harness. With several nodes it has a section for each node, in the order in
// which they were added.
func (b *Simulation) Transcript() string { return b.transcriptOfAll() }

// withUID returns a copy of the pod with the UID that the node will give it. A pod that has a UID, or nil, is
// returned as it is.
func withUID(pod *v1.Pod) *v1.Pod {
	if pod == nil || pod.UID != "" {
		return pod
	}
	pod = pod.DeepCopy()
	pod.UID = node.UIDFromName(pod.Namespace, pod.Name)
	return pod
}
