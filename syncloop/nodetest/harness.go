package nodetest

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Config is what a Harness is made of. The zero value is a default node.
type Config struct {
	// Seed decides the order of events that are due at the same instant of a simulation.
	Seed uint64
	// Wrap, if set, returns what the node uses as its runtime in place of inner: for example one
	// with injected faults (faulty.Faults has a method with this signature). It is called for every
	// node that is started.
	Wrap func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime
	// Runtime, if set, makes the runtime on which the node runs, in place of the
	// one in memory. It is called once, with the machine's clock; the runtime
	// outlives the node's crashes. What it may do in a simulation:
	//
	//   - It keeps its state under a lock, and computes what time has brought from
	//     the clock's Now whenever it is called.
	//   - It waits by podworkers.Wait, with the context of the call, and holds no
	//     lock meanwhile. An error of Wait ends the call.
	//   - It starts no goroutine, and waits for no channel, timer, condition,
	//     process or network. A call that does stops the simulation, which fails the
	//     test with a sentence and the place after 20 s.
	//   - What it decides by chance or by the order of a map is not repeated with
	//     the same seed.
	//
	// Of what package runtime calls optional, terminals and ports are not passed
	// on. After each call that changes something the checks ask for PodStatus. The
	// rules about times (see Wrap) are not checked.
	Runtime func(clk clock.Clock) runtime.Runtime
	// Details: the transcript also has the arguments with which containers are made, and the
	// messages of statuses.
	Details bool
	// Timelines: what happens to pods is recorded for Timelines, as with the test flag -timeline.
	Timelines bool
	// Node is the node's configuration. The harness sets Clock, Runtime and Recorder. A nil Jitter
	// means that nothing is spread.
	Node node.Config
	// Configure, if set, may change the configuration of every node right before the node is made,
	// when the parts of the harness are in it. Package metrics adds its hooks that way.
	Configure func(*node.Config)
}

// Harness is a node with a runtime, driven by a test, in a simulation or with goroutines. Only the
// test's own goroutine calls its methods.
type Harness interface {
	// Node returns the node that runs now.
	Node() *node.Node
	// Machine is the in-memory runtime of the node: tests inspect it, and make containers fail.
	Machine() *memory.Runtime
	// Apply makes a pod desired, in place of an earlier one of its UID. A node that is
	// started after a crash gets it too. An annotation with a script for a container that the pod
	// does not have fails the test; for an ephemeral container that comes later, the SetScript of
	// the Machine serves.
	Apply(pod *v1.Pod)
	// Delete makes the pod of this UID no longer desired. A UID that no pod has had fails the test.
	Delete(uid types.UID)
	// Run lets d of virtual time pass, and does everything that becomes due until then.
	Run(d time.Duration)
	// Transcript returns everything that has happened so far, pod by pod in order of name: the time
	// since Epoch, then each call that changes the runtime and each event, and behind a "|" the
	// status of the pod at the end of that instant. Calls that were made one after another stand in
	// that order. Calls that were made in parallel, as the stops of regular containers are, have no
	// order: they are a group of lines marked "┌", "│" and "└", sorted by name.
	Transcript() string
}

// Epoch is the time at which every simulation begins: that of a synctest bubble.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Play runs a story twice, in a simulation and in a synctest bubble with goroutines, fails the test
// unless both give the same transcript, and returns that.
func Play(t *testing.T, config Config, story func(Harness)) string {
	t.Helper()
	b := New(t, config)
	story(b)
	b.Stop()
	var live string
	Live(t, config, func(w Harness) {
		t.Helper()
		story(w)
		live = w.Transcript()
	})
	if simulated := b.Transcript(); simulated != live {
		t.Errorf("the simulation and the goroutines differ.\nIn the simulation:\n%s\nUnder goroutines:\n%s", simulated, live)
	}
	return b.Transcript()
}
