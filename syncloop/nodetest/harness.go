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

// Config says what is put in the harness. The zero value is a default node.
type Config struct {
	// Seed decides the order of what happens at once, in a simulation.
	Seed uint64
	// Wrap, if set, puts something between the node and the machine: for example faults
	// by rule (faulty.Faults has a method with this signature). It is called for every
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
	// Details: the transcript also tells what containers are made with, and what
	// statuses say of them for people.
	Details bool
	// Timelines: what Timelines returns is recorded, as with the test flag -timeline.
	Timelines bool
	// Node is the node's configuration. Clock, Runtime, Recorder and Jitter
	// are the harness's; a nil Jitter is none at all.
	Node node.Config
	// Configure, if set, changes the whole configuration of every node right before it is
	// made, with the parts of the harness in it; package metrics adds its hooks so.
	Configure func(*node.Config)
}

// Harness is a node with a runtime, in a simulation or in goroutines, driven by a
// test. Its methods are called by the test's own goroutine.
type Harness interface {
	// Node is the node that runs now.
	Node() *node.Node
	// Machine is the runtime below it, for looking and for making trouble.
	Machine() *memory.Runtime
	// Apply makes a pod desired, in place of an earlier one of its UID. A node that is
	// started after a crash gets it too.
	Apply(pod *v1.Pod)
	// Delete wants a pod no more.
	Delete(uid types.UID)
	// Run does all that can be done now, and lets virtual time pass.
	Run(d time.Duration)
	// Transcript is all that has happened so far, pod by pod in order of name:
	// when, since Epoch; each call that changes the runtime, each event, and
	// behind a "|" the status of the pod at the end of that instant.
	Transcript() string
}

// Epoch is when every simulation begins: the beginning of time in a synctest bubble.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Play runs a story in both worlds, a simulation and live goroutines, fails the
// test unless both tell the same, and returns the transcript.
func Play(t *testing.T, config Config, story func(Harness)) string {
	t.Helper()
	b := New(t, config)
	story(b)
	b.Stop()
	var live string
	Live(t, config, func(w Harness) {
		story(w)
		live = w.Transcript()
	})
	if simulated := b.Transcript(); simulated != live {
		t.Errorf("the simulation and the goroutines differ.\nIn the simulation:\n%s\nUnder goroutines:\n%s", simulated, live)
	}
	return b.Transcript()
}
