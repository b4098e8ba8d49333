package nodetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

func TestSimulation_TheTestDrainsInVirtualTime(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(webPod("web"))
	b.Run(10 * time.Second)
	require.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{}))
	assert.Equal(t, 40*time.Second, b.Now().Sub(nodetest.Epoch), "ten seconds, and the grace")
	b.Stop()
	assert.Contains(t, b.Transcript(), "       40s  StopContainer c0 grace=30s\n")
}

func TestSimulation_ADrainOfTheTestEndsWithItsContext(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(webPod("web"))
	b.Run(10 * time.Second)
	ctx, cancel := b.WithTimeout(5 * time.Second)
	defer cancel()
	require.EqualError(t, b.Node().Drain(ctx, node.DrainOptions{}), "node: pod default/web has not terminated: context deadline exceeded")
	assert.Equal(t, 15*time.Second, b.Now().Sub(nodetest.Epoch))
	b.Stop()
}

// Other waiting calls are treated alike: Watch, the Completion of an eviction, and calls of the machine.
func TestSimulation_OtherCallsOfTheTestWaitInVirtualTime(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(webPod("web"))
	for state := range b.Node().Watch(context.Background()) {
		if state.Summary().Status == "Running" {
			break
		}
	}
	b.AssertPhase("web", v1.PodRunning)
	done, err := b.Node().Evict("uid-web", node.Eviction{Reason: "Evicted", Message: "by the test"})
	require.NoError(t, err)
	require.NoError(t, done.Wait(context.Background()))
	b.RunUntilIdle()
	b.AssertPhase("web", v1.PodFailed)
	b.Stop()
}

func TestSimulation_AWaitThatCannotEndFailsTheTest(t *testing.T) {
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{Seed: 1})
		b.Apply(webPod("web"))
		for range b.Node().Watch(context.Background()) {
		}
	})
	assert.True(t, f.failed)
	assert.Regexp(t, `^nodetest: the test waits for a condition at simulation_test.go:\d+ that does not occur: executor: it is 2000-01-02T00:00:00Z, and what is waited for has not happened`, f.said)
}

func TestSimulation_RunAfterStopFailsTheTest(t *testing.T) {
	for name, move := range map[string]func(b *nodetest.Simulation){
		"Run":          func(b *nodetest.Simulation) { b.Run(time.Second) },
		"RunUntil":     func(b *nodetest.Simulation) { b.RunUntil(func() bool { return true }) },
		"RunUntilIdle": func(b *nodetest.Simulation) { b.RunUntilIdle() },
		"Step":         func(b *nodetest.Simulation) { b.Step() },
		"StepUntil":    func(b *nodetest.Simulation) { b.StepUntil(b.Now()) },
	} {
		f := runStory(func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			b.Stop()
			move(b)
		})
		assert.Contains(t, f.said, "nodetest: "+name+" after Stop: no node runs any more. Start starts another", name)
	}
	b := nodetest.New(t, nodetest.Config{})
	b.Stop()
	b.Start()
	b.Run(time.Second)
	b.Crash()
	b.Run(time.Second) // Time passes while there is no node.
	b.Start()
	b.Stop()
}

func TestSimulation_TheEndOfTheTestStopsItsNodes(t *testing.T) {
	var ended []string
	config := func(name string) nodetest.Config {
		return nodetest.Config{Node: node.Config{Name: name, Pods: node.PodsConfig{Sources: map[string]source.Source{"silent": endOf(func(err error) {
			if errors.Is(err, context.Canceled) {
				ended = append(ended, name)
			}
		})}}}}
	}
	f := runStory(func(t *tb) {
		b := nodetest.New(t, config("a"))
		b.AddNode(config("b"))
		b.AddNode(config("c")).Stop()
		assert.Equal(t, []string{"c"}, ended)
		b.Run(time.Second)
	})
	assert.False(t, f.failed, f.said)
	assert.Equal(t, []string{"c", "a", "b"}, ended, "each has come to its end")
	f = runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.Run(time.Second)
		b.Crash()
	})
	assert.False(t, f.failed, "what has crashed needs no Stop")
}

// endOf is a source without pods that waits for the end of the node.
type endOf func(err error)

func (e endOf) Run(ctx context.Context, sink source.Sink) error {
	sink.Set(source.Snapshot{})
	err := podworkers.Wait(ctx, 1000*time.Hour)
	e(err)
	return err
}

// What Stop would have found is found.
func TestSimulation_TheEndOfTheTestChecksAsStopDoes(t *testing.T) {
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.Machine().SetScript(memory.Selector{Container: "wbe"}, memory.Script{Runs: []memory.Run{{Exit: 1}}})
		b.Run(time.Second)
	})
	assert.Equal(t, `nodetest: SetScript: no pod has a container of {UID: Namespace: Name: Container:wbe}`, f.said)
}

func TestSimulation_ASecondStopIsHarmless(t *testing.T) {
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		defer b.Stop()
		b.Run(time.Second)
		b.Stop()
		b.Stop()
		b.Start()
		b.Run(time.Second)
		b.Crash()
		b.Stop()
	})
	assert.False(t, f.failed, f.said)
}

func TestSimulation_AFailedTestLogsTheTranscript(t *testing.T) {
	story := func(t *tb, stop bool) {
		b := nodetest.New(t, nodetest.Config{})
		b.Apply(webPod("web"))
		b.Run(time.Second)
		t.Errorf("no")
		if stop {
			b.Stop()
		}
	}
	for _, stop := range []bool{true, false} {
		f := runStory(func(t *tb) { story(t, stop) })
		assert.Equal(t, "no", f.said)
		assert.Contains(t, f.logged, "The transcript:\npod default/web\n")
		assert.Equal(t, 1, strings.Count(f.logged, "The transcript"))
	}
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.Stop()
	})
	assert.Empty(t, f.logged)
}

func TestSimulation_RunUntil(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{})
	b.Apply(newPod("job", []string{"sleep", "7"}))
	b.Run(time.Second)
	took := b.RunUntil(func() bool {
		p := b.Pod("job")
		return p != nil && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	assert.Equal(t, 6*time.Second, took)
	b.Stop()
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{})
		b.RunUntil(func() bool { return false })
	})
	assert.Contains(t, f.said, "nodetest: RunUntil: after 24h0m0s the condition still does not hold")
}

func TestSimulation_PodsAreFoundByName(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{})
	other := webPod("web")
	other.Namespace, other.UID = "other", "uid-other"
	b.Apply(webPod("web"))
	b.Apply(other)
	assert.Empty(t, b.Status("web"))
	b.Run(time.Second)
	assert.EqualValues(t, "uid-web", b.Pod("web").UID)
	assert.EqualValues(t, "uid-other", b.Pod("other/web").UID)
	assert.Nil(t, b.Pod("no-such-pod"))
	assert.True(t, b.AssertStatus("web", "1/1 Running restarts=0"))
	assert.True(t, b.AssertPhase("other/web", v1.PodRunning))
	b.Delete("uid-web")
	b.Run(time.Minute)
	assert.True(t, b.AssertStatus("web", "gone"))
	b.Stop()
	assert.Nil(t, b.Pod("other/web"), "no node runs")

	for want, check := range map[string]func(b *nodetest.Simulation) bool{
		`nodetest: at 1s: pod default/web is "1/1 Running restarts=0", not "gone"`:                                 func(b *nodetest.Simulation) bool { return b.AssertStatus("web", "gone") },
		`nodetest: at 1s: pod default/web is Running (1/1 Running restarts=0), not Failed`:                         func(b *nodetest.Simulation) bool { return b.AssertPhase("web", v1.PodFailed) },
		`nodetest: at 1s: there is no pod default/wep: the pods are default/job, default/web`:                      func(b *nodetest.Simulation) bool { return b.AssertPhase("wep", v1.PodFailed) },
		`nodetest: at 1s: there is no pod default/wep that could be "gone": the pods are default/job, default/web`: func(b *nodetest.Simulation) bool { return b.AssertStatus("wep", "gone") },
	} {
		f := runStory(func(t *tb) {
			b := nodetest.New(t, nodetest.Config{})
			b.Apply(webPod("web"))
			b.Apply(webPod("job"))
			b.Run(time.Second)
			if check(b) {
				t.Errorf("it passes")
			}
			b.Stop()
		})
		assert.Equal(t, want, f.said)
	}
}

func TestSimulation_SeveralNodes(t *testing.T) {
	named := func(name string) nodetest.Config { return nodetest.Config{Node: node.Config{Name: name}} }
	tell := func() string {
		a := nodetest.New(t, named("a"))
		b := a.AddNode(named("b"))
		a.Apply(webPod("web"))
		a.Run(5 * time.Second)
		b.Apply(newPod("job", []string{"sleep", "3"}))
		b.Run(5 * time.Second)
		a.Crash()
		b.Run(5 * time.Second)
		a.Start()
		a.Run(5 * time.Second)
		assert.True(t, a.AssertStatus("web", "1/1 Running restarts=0"))
		assert.Equal(t, "a", a.Pod("web").Spec.NodeName)
		assert.Nil(t, a.Pod("job"))
		a.Stop()
		b.Run(time.Minute) // b still runs.
		b.Stop()
		assert.Equal(t, a.Transcript(), b.Transcript())
		return a.Transcript()
	}
	transcript := tell()
	assert.Equal(t, transcript, tell(), "the same seed")
	assert.True(t, strings.HasPrefix(transcript, "node a\n       10s  the agent crashes\npod default/web\n        0s  RunSandbox attempt=0\n"), transcript)
	_, ofB, ok := strings.Cut(transcript, "\nnode b\npod default/job\n")
	require.True(t, ok, transcript)
	assert.True(t, strings.HasPrefix(ofB, "        5s  RunSandbox attempt=0\n"), ofB)
	assert.NotContains(t, ofB, "web")
}

func TestSimulation_NodesHaveNamesOfTheirOwn(t *testing.T) {
	f := runStory(func(t *tb) { nodetest.New(t, nodetest.Config{}).AddNode(nodetest.Config{}) })
	assert.Equal(t, `nodetest: AddNode: there is a node "localhost" already: give each a Config.Node.Name`, f.said)
	f = runStory(func(t *tb) {
		nodetest.New(t, nodetest.Config{Seed: 1}).AddNode(nodetest.Config{Seed: 2, Node: node.Config{Name: "b"}})
	})
	assert.Equal(t, "nodetest: AddNode: the seed of a simulation is that of New", f.said)
}

// TestSimulation_PodsWithoutUID: pods of different names are different pods, and a second Apply of a name updates its
// pod, also at the next node.
func TestSimulation_PodsWithoutUID(t *testing.T) {
	s := nodetest.New(t, nodetest.Config{})
	for _, name := range []string{"a", "b", "a"} {
		pod := newPod(name, []string{"serve"})
		pod.UID = ""
		s.Apply(pod)
	}
	s.Run(time.Second)
	s.Crash()
	s.Start()
	s.Run(time.Second)
	assert.Len(t, s.Node().Pods(), 2)
	assert.Equal(t, "1/1 Running restarts=0", s.Status("a"))
	s.Delete(node.UIDFromName("default", "a"))
	s.Run(time.Minute)
	assert.Len(t, s.Node().Pods(), 1)
	s.Stop()
}

// TestSimulation_DeletionTakenBack: a pod is applied with a deletion timestamp, and again without it while it
// terminates. It terminates, and starts again as a new incarnation.
func TestSimulation_DeletionTakenBack(t *testing.T) {
	s := nodetest.New(t, nodetest.Config{})
	web := podOf("web", "run=forever ignore-term")
	s.Apply(web)
	s.Run(time.Second)
	deleted := web.DeepCopy()
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: s.Now()}, new(int64(5))
	s.Apply(deleted)
	s.Run(time.Second)
	s.Apply(web)
	s.Run(time.Minute)
	s.Stop()
	assert.Contains(t, s.Transcript(), `
        1s  | 1/1 Terminating restarts=0
        6s  StopContainer c grace=5s
        6s  StopSandbox
        6s  StopSandbox
        6s  RunSandbox attempt=1
        6s  event Pulled: Container image "web:1" already present on machine
        6s  CreateContainer c attempt=1
        6s  event Created: Container c created
        6s  StartContainer c
        6s  event Started: Container c started
        6s  RemoveSandbox
        6s  | 1/1 Running restarts=1
`)
}
