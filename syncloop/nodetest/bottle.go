package nodetest

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/turn"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Bottle is a World in one thread: nothing in it moves but in Run, Settle, the
// Steps, Crash and Stop. Its methods are called by the test's own goroutine, and
// not by what runs in the bottle.
type Bottle struct {
	t         testing.TB
	config    Config
	scheduler *turn.Scheduler
	machine   *memory.Runtime
	trace     *trace

	process *turn.Process // nil while no node runs
	node    *node.Node
	end     context.CancelFunc
	ended   bool
	wanted  []*v1.Pod
}

// New makes a bottle and starts a node in it, and fails the test if its Config
// is wrong. Nothing has happened yet: that takes Run or Step. Stop the bottle at
// the end.
func New(t testing.TB, config Config) *Bottle {
	t.Helper()
	b := &Bottle{t: t, config: config, scheduler: turn.NewScheduler(config.Seed, Epoch)}
	b.trace = newTrace(t, b.scheduler.Now)
	if config.Wrap == nil {
		b.trace.mu.rules.strict = newStrict()
	}
	outside := b.scheduler.NewProcess()
	b.machine = memory.New(memory.Config{Clock: outside.Clock(), Hooks: memory.Hooks{Call: b.trace.call}})
	b.trace.machine, b.trace.details = b.machine, config.Details
	b.Start()
	return b
}

// Start starts a node on the machine, and tells it everything that is wanted.
// It is called after Crash or Stop; New has called it already.
func (b *Bottle) Start() {
	b.t.Helper()
	if b.process != nil {
		b.t.Fatal("nodetest: a node runs already")
	}
	p := b.scheduler.NewProcess()
	n, err := node.New(b.config.node(p.Clock(), b.machine.On(p.Clock()), b.trace))
	if err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
	ctx, end := turn.WithCancel(turn.Into(context.Background(), p))
	b.process, b.node, b.end, b.ended = p, n, end, false
	for _, pod := range b.wanted {
		b.set(pod)
	}
	p.Go(func() { b.trace.follow(ctx, n) })
	p.Go(func() {
		if err := n.Run(ctx); err != nil {
			b.t.Errorf("nodetest: the node failed: %v", err)
		}
		b.ended = true
	})
}

// Crash throws the node away where it stands. The machine lives on, and time
// may pass before another node is started.
func (b *Bottle) Crash() {
	b.t.Helper()
	b.mustRun()
	b.process.Crash()
	b.trace.crashed() // Calls that were under way have failed by now.
	b.process, b.node = nil, nil
}

// Stop ends the node's context and lets it come to its end, which may take
// time. The test fails if it does not end, or leaves something running.
func (b *Bottle) Stop() {
	b.t.Helper()
	b.mustRun()
	b.end()
	for !b.ended && b.Step() {
	}
	if !b.ended {
		b.t.Error("nodetest: the node does not end")
	}
	b.scheduler.Settle()
	if left := b.process.Running(); left > 0 {
		b.t.Errorf("nodetest: %d coroutines are left behind", left)
	}
	b.process, b.node = nil, nil
}

func (b *Bottle) mustRun() {
	b.t.Helper()
	if b.process == nil {
		b.t.Fatal("nodetest: no node runs")
	}
}

// Node implements World. It is nil after Crash and Stop.
func (b *Bottle) Node() *node.Node { return b.node }

// Machine implements World.
func (b *Bottle) Machine() *memory.Runtime { return b.machine }

// Now is the bottle's time.
func (b *Bottle) Now() time.Time { return b.scheduler.Now() }

// Set implements World. Without a node it is remembered for the next one. A pod
// that a node does not take fails the test.
func (b *Bottle) Set(pod *v1.Pod) {
	b.t.Helper()
	b.forget(pod.UID)
	b.wanted = append(b.wanted, pod)
	b.trace.wants(pod)
	if b.node != nil {
		b.set(pod)
	}
}

func (b *Bottle) set(pod *v1.Pod) {
	b.t.Helper()
	if err := b.node.Set(pod); err != nil {
		b.t.Fatalf("nodetest: %v", err)
	}
}

// Drop implements World.
func (b *Bottle) Drop(uid types.UID) {
	b.forget(uid)
	b.trace.drops(uid)
	if b.node != nil {
		b.node.Drop(uid)
	}
}

func (b *Bottle) forget(uid types.UID) {
	for i, pod := range b.wanted {
		if pod.UID == uid {
			b.wanted = append(b.wanted[:i:i], b.wanted[i+1:]...)
			return
		}
	}
}

// Go runs f as a coroutine of the node's process: for calls that wait, such as
// Drain. It begins with the next step, and ends with a crash.
func (b *Bottle) Go(f func()) {
	b.t.Helper()
	b.mustRun()
	b.process.Go(f)
}

// Run implements World.
func (b *Bottle) Run(d time.Duration) { b.scheduler.RunUntil(b.scheduler.Now().Add(d)) }

// Settle runs all that can run without time passing.
func (b *Bottle) Settle() { b.scheduler.Settle() }

// Step runs one coroutine to its next wait, letting time pass to the next
// timer if none is ready. It reports false if nothing will ever happen again.
func (b *Bottle) Step() bool {
	if b.scheduler.Step() {
		return true
	}
	next, ok := b.scheduler.Next()
	if !ok {
		return false
	}
	b.scheduler.AdvanceTo(next)
	return true
}

// StepUntil is Step, but time does not pass beyond t, which is not in the past:
// if nothing happens until then, it is t afterwards.
func (b *Bottle) StepUntil(t time.Time) {
	if b.scheduler.Step() {
		return
	}
	if next, ok := b.scheduler.Next(); ok && next.Before(t) {
		t = next
	}
	b.scheduler.AdvanceTo(t)
}

// Steps counts the steps so far: the number by which a crash is placed.
func (b *Bottle) Steps() int { return b.scheduler.Steps() }

// Transcript implements World.
func (b *Bottle) Transcript() string { return b.trace.String() }
