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

// Config configures a Harness. The zero value is a default node.
type Config struct {
	// Seed decides the order of events that are due at the same instant of a simulation.
	Seed uint64
	// Wrap, if set, returns the runtime that the node uses instead of inner, for example a runtime with
	// injected faults: faulty.Faults has a method with this signature. It is called for every started
	// node.
	Wrap func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime
	// Runtime, if set, makes the runtime of the node, instead of the in-memory one. It is called once,
	// with the machine's clock. The runtime survives crashes of the node. In a simulation the runtime
	// must follow these rules:
	//
	//   - It stores its state under a lock, and computes the effects of passed time from the clock's Now
	//     in each call.
	//   - It waits with podworkers.Wait and the context of the call, and holds no lock meanwhile. An error
	//     of Wait ends the call.
	//   - It starts no goroutine, and waits for no channel, timer, condition, process or network. A call that
	//     does so blocks the simulation. After 20 s the test fails with a sentence and the place.
	//   - Decisions by chance or by the order of a map are not repeated with the same seed.
	//
	// Of the optional roles in package runtime, terminals and port forwarding are not passed on. After
	// each call that changes the runtime the checks call PodStatus. The rules about times (see Wrap)
	// are not checked.
	Runtime func(clk clock.Clock) runtime.Runtime
	// Details adds to the transcript the arguments with which containers are created, and the messages
	// of statuses.
	Details bool
	// Timelines records the events of pods for Simulation.Timelines, as the test flag -timeline does.
	Timelines bool
	// Node configures the node. The harness sets Clock, Runtime and Recorder. With a nil Jitter retries
	// are not spread.
	Node node.Config
	// Configure, if set, may change the configuration of every node right before the node is made, when
	// the harness has set its fields. Package metrics adds its hooks that way.
	Configure func(*node.Config)
}

// Harness is a node with a runtime, driven by a test, in a simulation or with goroutines. Only the
// goroutine of the test calls its methods.
type Harness interface {
	// Node returns the present node.
	Node() *node.Node
	// Machine returns the in-memory runtime on which the node runs. It survives crashes of the node.
	// Tests inspect it, and make containers fail.
	Machine() *memory.Runtime
	// Apply makes a pod desired, in place of an earlier pod of its UID. A node that is started after a
	// crash gets the pod too. If an annotation has a script for a container that the pod lacks, the
	// test fails. For an ephemeral container that is added later, use SetScript of the Machine.
	Apply(pod *v1.Pod)
	// Delete makes the pod of this UID undesired. If no pod ever had the UID, the test fails.
	Delete(uid types.UID)
	// Run lets d of virtual time pass, and runs everything that becomes due until then.
	Run(d time.Duration)
	// Transcript returns everything that has happened so far, pod by pod in order of name. Each line
	// has the time since Epoch, and then a call that changes the runtime, an event, or, after a "|",
	// the status of the pod at the end of that instant. Sequential calls stand in their order. Parallel
	// calls, such as the stops of regular containers, have no order: they are a group of lines marked
	// "┌", "│" and "└", sorted by name.
	Transcript() string
}

// Epoch is the time at which every simulation begins, as in a synctest bubble.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Play runs a story twice, in a simulation and with goroutines in a synctest bubble. It fails the test
// unless both transcripts are equal, and returns the transcript.
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
