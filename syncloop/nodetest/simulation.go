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

// Simulation is a Harness in one thread: nothing in it moves but in Run, RunUntilIdle, the
// Steps, Crash and Stop. Its methods are called by the test's own goroutine, and
// not by what runs in the simulation.
type Simulation struct {
	*simulator
	config         Config
	machine        *memory.Runtime // nil: own runs the containers
	ownRuntime     runtime.Runtime
	machineProcess *executor.Process // of the machine
	trace          *trace

	process *executor.Process // nil while no node runs
	node    *node.Node
	cancel  context.CancelFunc
	ended   bool
	stopped bool // by Stop
	desired []*v1.Pod
}

// New makes a simulation and starts a node in it, and fails the test if its Config
// is wrong. Nothing has happened yet: that takes Run or Step. At the end of the test, nodes that
// still run are stopped. A test that has failed by then logs the transcript.
func New(t testing.TB, config Config) *Simulation {
	t.Helper()
	return newSimulator(t, config.Seed).addNode(config)
}

// AddNode starts another node in the same simulation, with a machine of its own:
// one clock, one thread, one transcript. Whatever lets time pass for one of them
// does for all. Its Config has a Node.Name that no other node has, and no Seed, as
// that is New's. The Simulation that it returns is for that node: its pods, its
// crashes, its Stop; the transcript is of all nodes.
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
	return b.addNode(config)
}

func (b *Simulation) nodeName() string { return nodeNameOf(b.config) }

func nodeNameOf(config Config) string { return strings.ToLower(cmp.Or(config.Node.Name, "localhost")) }

// Start starts a node on the runtime and applies all desired pods to it. It is called after Crash
// or Stop; New has called it already.
func (b *Simulation) Start() {
	b.t.Helper()
	if b.process != nil {
		b.t.Fatal("nodetest: a node runs already")
	}
	p := b.scheduler.NewProcess()
	n, err := node.New(b.config.nodeConfig(p.Clock(), b.runtimeForNode(p), b.trace))
	if err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
	ctx, end := executor.WithCancel(executor.Into(context.Background(), p))
	b.process, b.node, b.cancel, b.ended, b.stopped = p, n, end, false, false
	b.cleanupTarget.sim = b.simulator
	b.trace.noteOnTimelines("the agent starts")
	for _, pod := range b.desired {
		b.applyToNode(pod)
	}
	b.trace.faults.report(b.t)
	p.Go(func() { b.trace.followNode(ctx, n) })
	p.Go(func() {
		if err := n.Run(ctx); err != nil {
			b.trace.faults.add("the node failed: %v", err)
		}
		b.ended = true
	})
}

// Crash discards the node at its present step, as SIGKILL does. The runtime keeps running, and time
// may pass before Start starts another node.
func (b *Simulation) Crash() {
	b.t.Helper()
	b.requireNode()
	b.process.Crash()
	b.trace.recordCrash() // Calls that were under way have failed by now.
	b.process, b.node = nil, nil
	b.trace.faults.report(b.t)
}

// Stop ends the node's context and lets it come to its end, which may take
// time. The test fails if it does not end, or leaves something running. Time does
// not pass any more after the last node of a simulation has been stopped, unless
// Start starts another. If no node runs, since it was stopped before or has crashed, Stop does
// nothing. The end of the test stops a node that runs then.
func (b *Simulation) Stop() {
	b.t.Helper()
	if b.process == nil {
		return
	}
	b.cancel()
	b.driveAndReport(func() {
		if err := b.scheduler.RunWhile(b.Now().Add(maxVirtualWait), func() bool { return !b.ended }); err != nil {
			b.trace.faults.add("the node does not end: %v", err)
		}
		b.scheduler.RunUntilIdle()
	})
	if left := b.process.Running(); left > 0 {
		b.trace.faults.add("%d coroutines are left behind", left)
	}
	b.checkScriptsOfMachine()
	b.trace.recordStop()
	b.process, b.node, b.stopped = nil, nil, true
	b.trace.faults.report(b.t)
	b.releaseIfStopped()
}

// checkScriptsOfMachine checks the scripts that the test has set at the machine.
func (b *Simulation) checkScriptsOfMachine() {
	if b.machine != nil {
		b.trace.checkScripts(b.machine.ScriptSelectors())
	}
}

func (b *Simulation) requireNode() {
	b.t.Helper()
	if b.process == nil {
		b.t.Fatal("nodetest: no node runs")
	}
}

// Node implements Harness. It is nil after Crash and Stop. Those of its methods that
// wait (Drain, Watch, what Evict returns) may be called by the test, and let time
// pass until what they wait for has come; a day at most, or the test fails. The
// channels of Ready and Done are for goroutines: see RunUntil.
func (b *Simulation) Node() *node.Node { return b.node }

// Machine implements Harness. It is nil with a Config.Runtime.
func (b *Simulation) Machine() *memory.Runtime { return b.machine }

// Now returns the time of the simulation.
func (b *Simulation) Now() time.Time { return b.scheduler.Now() }

// Apply implements Harness. Without a node it is remembered for the next one. A pod
// that a node does not take fails the test.
func (b *Simulation) Apply(pod *v1.Pod) {
	b.t.Helper()
	pod = withUID(pod)
	if err := checkScripts(pod); err != nil {
		b.t.Fatalf("nodetest: Apply: %v", err)
	}
	b.removeDesired(pod.UID)
	b.desired = append(b.desired, pod)
	b.trace.recordDesired(pod)
	if b.node != nil {
		b.applyToNode(pod)
	}
}

func (b *Simulation) applyToNode(pod *v1.Pod) {
	b.t.Helper()
	if err := b.node.Apply(pod); err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
	b.trace.faults.report(b.t)
}

// Delete implements Harness.
func (b *Simulation) Delete(uid types.UID) {
	b.t.Helper()
	if err := b.trace.checkUID(uid); err != nil {
		b.t.Fatalf("nodetest: Delete: %v", err)
	}
	b.removeDesired(uid)
	b.trace.recordDeleted(uid)
	if b.node != nil {
		b.node.Delete(uid)
	}
	b.trace.faults.report(b.t)
}

func (b *Simulation) removeDesired(uid types.UID) {
	for i, pod := range b.desired {
		if pod.UID == uid {
			b.desired = append(b.desired[:i:i], b.desired[i+1:]...)
			return
		}
	}
}

// Go runs f as a coroutine of the node's process: for calls that wait while the
// test goes on. It begins with the next step, and ends with a crash.
func (b *Simulation) Go(f func()) {
	b.t.Helper()
	b.requireNode()
	b.process.Go(f)
}

// Run implements Harness.
func (b *Simulation) Run(d time.Duration) {
	b.t.Helper()
	b.requireNodeForTime("Run")
	b.driveAndReport(func() { b.scheduler.RunUntil(b.Now().Add(d)) })
}

// RunUntil lets time pass, step by step, until cond returns true, and returns how much time has
// passed. It fails the test if cond is still false after a day. The test's goroutine calls cond
// before every step; cond must not wait.
func (b *Simulation) RunUntil(cond func() bool) time.Duration {
	b.t.Helper()
	b.requireNodeForTime("RunUntil")
	began := b.Now()
	var err error
	b.driveAndReport(func() { err = b.scheduler.RunWhile(began.Add(maxVirtualWait), func() bool { return !cond() }) })
	if err != nil {
		b.t.Fatalf("nodetest: RunUntil: after %s the condition still does not hold: %v", b.Now().Sub(began), err)
	}
	return b.Now().Sub(began)
}

// WithTimeout returns a context that ends after d of virtual time: for calls that
// the test makes, such as Drain. The cancel function is called as usual.
func (b *Simulation) WithTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return b.machineProcess.WithDeadline(executor.Into(context.Background(), b.machineProcess), b.Now().Add(d))
}

// RunUntilIdle runs all that can run without time passing.
func (b *Simulation) RunUntilIdle() {
	b.t.Helper()
	b.requireNodeForTime("RunUntilIdle")
	b.driveAndReport(b.scheduler.RunUntilIdle)
}

// Step runs one coroutine to its next wait, letting time pass to the next
// timer if none is ready. It reports false if nothing will ever happen again.
func (b *Simulation) Step() (stepped bool) {
	b.t.Helper()
	b.requireNodeForTime("Step")
	b.driveAndReport(func() {
		if stepped = b.scheduler.Step(); stepped {
			return
		}
		next, ok := b.scheduler.Next()
		if ok {
			b.scheduler.AdvanceTo(next)
		}
		stepped = ok
	})
	return stepped
}

// StepUntil is Step, but time does not pass beyond t, which is not in the past:
// if nothing happens until then, it is t afterwards.
func (b *Simulation) StepUntil(t time.Time) {
	b.t.Helper()
	b.requireNodeForTime("StepUntil")
	b.driveAndReport(func() {
		if b.scheduler.Step() {
			return
		}
		if next, ok := b.scheduler.Next(); ok && next.Before(t) {
			t = next
		}
		b.scheduler.AdvanceTo(t)
	})
}

// Steps returns the number of steps so far: a crash is placed by it.
func (b *Simulation) Steps() int { return b.scheduler.Steps() }

// Timelines are the drawings of all pods of the node, those that are gone included, by name.
// There are none without Config.Timelines or the test flag -timeline.
func (b *Simulation) Timelines() []timeline.Timeline { return b.trace.timelines() }

// Transcript implements Harness. Of several nodes it is a section for each, in the
// order in which they were added.
func (b *Simulation) Transcript() string { return b.transcriptOfAll() }

// withUID returns the pod with the UID that the node will give it. The harness finds its pods by UID.
func withUID(pod *v1.Pod) *v1.Pod {
	if pod == nil || pod.UID != "" {
		return pod
	}
	pod = pod.DeepCopy()
	pod.UID = node.UIDFromName(pod.Namespace, pod.Name)
	return pod
}
