package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// heavy is a pod that takes a cpu, and ends when its grace is over.
func heavy(name string, grace int64) *v1.Pod {
	p := pod(name, []string{"serve"})
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	return p
}

// oneCPU is a node for one of them.
func oneCPU() node.Config {
	return node.Config{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}
}

// state is the status of a pod in a few words.
func state(b *nodetest.Simulation, uid types.UID) string {
	for _, p := range b.Node().Pods() {
		if p.UID == uid {
			return string(p.Status.Phase) + " " + p.Status.Reason
		}
	}
	return "not there"
}

// unstoppable has the runtime fail to stop anything, until that is mended.
func unstoppable(faults *faulty.Faults) (mend func(), err error) {
	for _, verb := range []string{faulty.StopContainer, faulty.StopSandbox} {
		if _, err = faults.Add(faulty.Rule{Verb: verb, Do: faulty.Fail}); err != nil {
			return nil, err
		}
	}
	return faults.Clear, nil
}

// TestWaiting_AnAPIServersPodIsRejectedAfterTheGraceAndHalfAMinute: a container that
// cannot be stopped holds a pod of the host program up for as long as it takes, and
// one of an API server for the grace and 30 s.
func TestWaiting_AnAPIServersPodIsRejectedAfterTheGraceAndHalfAMinute(t *testing.T) {
	for _, fromAPIServer := range []bool{true, false} {
		faults, err := faulty.New(faulty.Config{})
		require.NoError(t, err)
		config := oneCPU()
		config.FromAPIServer = fromAPIServer
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config, Wrap: faults.Wrap})
		b.Apply(heavy("old", 20))
		b.Run(5 * time.Second)
		mend, err := unstoppable(faults)
		require.NoError(t, err)
		b.Delete("uid-old")
		b.Run(time.Second)
		b.Apply(heavy("new", 1))
		b.Run(48 * time.Second)
		assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-new"))
		b.Run(2 * time.Second)
		if fromAPIServer {
			assert.Equal(t, "Failed OutOfcpu", state(b, "uid-new"))
		} else {
			assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-new"))
		}
		mend()
		b.Run(5 * time.Minute)
		if fromAPIServer {
			assert.Equal(t, "Failed OutOfcpu", state(b, "uid-new"), "it was said, and holds")
		} else {
			assert.Equal(t, "Running ", state(b, "uid-new"))
		}
		b.Stop()
	}
}

// TestWaiting_ExplainSaysForWhat, from the first moment on, and an event has.
func TestWaiting_ExplainSaysForWhat(t *testing.T) {
	config := oneCPU()
	config.FromAPIServer = true
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	b.Apply(heavy("old", 20))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(5 * time.Second)
	b.Apply(heavy("new", 1))
	b.Run(time.Second)
	assert.Equal(t, "default/new is Pending: it is not admitted yet: the node has not enough cpu: requested 1, used 1, capacity 1; "+
		"it waits for the end of default/old, and is refused in 44s if it still waits then", sentence(t, b, "uid-new"))
	b.Run(20 * time.Second)
	assert.Equal(t, "default/new is Running: its container runs and is ready", sentence(t, b, "uid-new"))
	for _, p := range b.Node().Pods() {
		assert.Empty(t, p.Status.Message, "nothing is left of it")
	}
	b.Stop()
}

// TestWaiting_ForAPodThatAFormerAgentHasStarted: what that pod takes is read from its
// sandbox, until the node has ended it as an orphan.
func TestWaiting_ForAPodThatAFormerAgentHasStarted(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavy("old", 20))
	b.Run(5 * time.Second)
	b.Crash()
	b.Delete("uid-old")
	b.Start()
	b.Apply(heavy("new", 1))
	b.Run(time.Second)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-new"))
	for range 600 {
		b.Run(100 * time.Millisecond)
		assert.LessOrEqual(t, runningNow(b), 1, "never two on one cpu")
	}
	assert.Equal(t, "Running ", state(b, "uid-new"))
	b.Stop()
}

// runningNow counts the pods that run.
func runningNow(b *nodetest.Simulation) (n int) {
	for _, p := range b.Machine().Look() {
		if p.MayRun() {
			n++
		}
	}
	return n
}

// TestWaiting_ADrainRefusesWhoWaits: the node takes no pods any more.
func TestWaiting_ADrainRefusesWhoWaits(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavy("old", 20))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(time.Second)
	b.Apply(heavy("new", 1))
	b.Run(time.Second)
	b.Go(func() { _ = b.Node().Drain(t.Context()) })
	b.Run(time.Minute)
	assert.Equal(t, "Failed NodeShutdown", state(b, "uid-new"))
	assert.Zero(t, runningNow(b))
	b.Stop()
}

// TestWaiting_StaticPodsWaitAsLongAsItTakes, beside those of an API server, which do
// not.
func TestWaiting_StaticPodsWaitAsLongAsItTakes(t *testing.T) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	files := source.NewHandle()
	config := oneCPU()
	config.FromAPIServer, config.Sources = true, map[string]source.Source{"file": files}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config, Wrap: faults.Wrap})
	b.Apply(heavy("old", 20))
	b.Run(5 * time.Second)
	mend, err := unstoppable(faults)
	require.NoError(t, err)
	b.Delete("uid-old")
	b.Run(time.Second)
	static := heavy("etcd", 1)
	require.NoError(t, files.Apply(static))
	b.Run(10 * time.Minute)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, static.UID))
	mend()
	b.Run(5 * time.Minute)
	assert.Equal(t, "Running ", state(b, static.UID))
	b.Stop()
}

// TestWaiting_TheSameUIDWaitsBehindItself: a pod that is desired again, and that
// also waits for another pod, starts once, when both have ended.
func TestWaiting_TheSameUIDWaitsBehindItself(t *testing.T) {
	config := oneCPU()
	config.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	b.Apply(heavy("again", 10))
	b.Apply(heavy("other", 40))
	b.Run(5 * time.Second)
	b.Delete("uid-again")
	b.Delete("uid-other")
	b.Run(time.Second)
	large := heavy("again", 10)
	large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2")
	b.Apply(large)
	b.Run(time.Second)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-again"))
	b.Run(30 * time.Second) // Its own previous incarnation is over.
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-again"))
	assert.Equal(t, 1, runningNow(b))
	b.Run(30 * time.Second)
	assert.Equal(t, "Running ", state(b, "uid-again"))
	assert.Equal(t, 1, runningNow(b))
	b.Stop()
}
