package nodetest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

var histories = flag.Int("nodetest.histories", 60, "how many random histories to live through")

// TestHistories_I41_I52 lives through random histories: pods that come, go and
// come again, containers and sandboxes that die, a runtime that fails, lies,
// loses replies and goes down, an agent that crashes anywhere. During each the
// bottle's invariants hold; when all trouble ends the node is as if there had
// been none; and the same seed tells the same story.
func TestHistories_I41_I52(t *testing.T) {
	for seed := range uint64(*histories) {
		first := live(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, first)
		}
		if seed%10 == 0 {
			require.Equal(t, first, live(t, seed), "seed %d told another story the second time", seed)
		}
	}
}

// history is one random life of a node.
type history struct {
	t      *testing.T
	random *rand.Rand
	b      *nodetest.Bottle
	faults *faulty.Faults
	wanted map[string]*v1.Pod
}

func live(t *testing.T, seed uint64) string {
	t.Helper()
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	h := &history{t: t, random: rand.New(rand.NewPCG(seed, 1)), faults: faults, wanted: map[string]*v1.Pod{}}
	h.b = nodetest.New(t, nodetest.Config{Seed: seed, Wrap: faults.Wrap})
	for range 40 {
		h.act()
		h.b.Run(time.Duration(h.random.IntN(4000)) * time.Millisecond)
	}
	faults.Clear()
	h.b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	h.b.Run(70 * time.Minute) // Longer than any backoff, and than a pull may hang.
	h.judge()
	h.b.Stop()
	return h.b.Transcript()
}

// act does one thing at random.
func (h *history) act() {
	switch n := h.random.IntN(20); {
	case n < 6:
		h.set()
	case n < 9:
		h.drop()
	case n < 11:
		h.kill()
	case n < 13:
		up := h.random.IntN(3) > 0
		h.b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: up, NetworkReady: h.random.IntN(3) > 0})
	case n < 16:
		h.trouble()
	case n < 18:
		h.crash()
	default:
		h.faults.Clear()
	}
}

func (h *history) set() {
	name := fmt.Sprintf("pod-%d", h.random.IntN(5))
	commands := [][]string{{"serve"}, {"sleep", "7"}, {"sh", "-c", "sleep 2; exit 1"}, {"serve", "more"}}
	p := pod(name, commands[h.random.IntN(len(commands))], []string{"serve"})
	if h.random.IntN(2) == 0 {
		p.Spec.InitContainers = []v1.Container{{Name: "init", Image: name + "-init:1", Command: []string{"sleep", "1"}}}
	}
	p.Spec.TerminationGracePeriodSeconds = new(int64(h.random.IntN(10)))
	if h.random.IntN(3) == 0 {
		p.Annotations = map[string]string{"memory.podkeel.dev/c1": "run=forever ignore-term"}
	}
	h.wanted[name] = p
	h.b.Set(p)
}

func (h *history) drop() {
	name := fmt.Sprintf("pod-%d", h.random.IntN(5))
	delete(h.wanted, name)
	h.b.Drop(types.UID("uid-" + name))
}

// kill ends a container or a sandbox behind the agent's back.
func (h *history) kill() {
	for _, p := range h.b.Machine().Look() {
		if h.random.IntN(3) > 0 {
			continue
		}
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning && h.random.IntN(2) == 0 {
				require.NoError(h.t, h.b.Machine().ExitContainer(c.ID, int32(h.random.IntN(3))))
			}
		}
		for _, s := range p.Sandboxes {
			if s.Ready && h.random.IntN(4) == 0 {
				require.NoError(h.t, h.b.Machine().KillSandbox(s.ID))
			}
		}
	}
}

// trouble adds a fault for a few calls.
func (h *history) trouble() {
	verbs := []string{faulty.RunSandbox, faulty.StopSandbox, faulty.RemoveSandbox, faulty.CreateContainer, faulty.StartContainer,
		faulty.StopContainer, faulty.RemoveContainer, faulty.PodStatus, faulty.ListPods, faulty.PullImage}
	rule := faulty.Rule{Verb: verbs[h.random.IntN(len(verbs))], Times: 1 + h.random.IntN(3)}
	switch h.random.IntN(5) {
	case 0:
		rule.Do = faulty.Fail
	case 1:
		rule.Do = faulty.FailDone
	case 2:
		rule.Do = faulty.Hang
	case 3:
		rule.Latency = time.Duration(h.random.IntN(20)) * time.Second
	case 4:
		rule.Verb, rule.Do = faulty.StopContainer, faulty.Lie
	}
	_, err := h.faults.Add(rule)
	require.NoError(h.t, err)
}

// crash throws the agent away after a few steps more, and starts another.
func (h *history) crash() {
	for range h.random.IntN(60) {
		h.b.Step()
	}
	h.b.Crash()
	h.b.Run(time.Duration(h.random.IntN(5000)) * time.Millisecond)
	h.b.Start()
}

// judge compares what runs with what is wanted, now that all is quiet.
func (h *history) judge() {
	runs := running(h.b.Machine())
	for _, p := range h.b.Machine().Look() {
		assert.Contains(h.t, h.wanted, p.Name, "nothing is left of what is not wanted")
	}
	for name, p := range h.wanted {
		assert.Contains(h.t, runs, name+"/c1", "a server that is wanted runs")
		if p.Spec.Containers[0].Command[0] == "serve" {
			assert.Contains(h.t, runs, name+"/c0", "a server that is wanted runs")
		}
	}
}
