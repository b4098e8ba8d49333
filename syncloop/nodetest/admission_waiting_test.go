package nodetest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestRefused_TheNextOfItsUIDIsAnother: a rejected pod is removed, and a pod with the same UID is added at once. The
// status of the rejected pod does not keep the new one from running.
func TestRefused_TheNextOfItsUIDIsAnother(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: 1}}})
	b.Apply(newPod("old", []string{"serve"}))
	b.Run(time.Second)
	b.Apply(newPod("new", []string{"serve"}))
	b.Run(time.Second)
	require.Equal(t, "Failed OutOfpods", podState(b, "uid-new"))
	b.Delete("uid-old")
	b.Run(time.Minute)
	b.Delete("uid-new")
	b.Apply(newPod("new", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, "Running ", podState(b, "uid-new"))
	b.Stop()
}

// TestWaiting_EvictedItNeverStarts: a pod that waits until another pod has terminated is evicted, and never starts. The
// other pod may be the previous incarnation of the same UID, which still has a worker. The eviction does not apply to
// that incarnation.
func TestWaiting_EvictedItNeverStarts(t *testing.T) {
	for _, uid := range []types.UID{"uid-old", "uid-new"} {
		two := resource.MustParse("2")
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: two}}}})
		b.Apply(heavyPod("old", 20))
		b.Apply(heavyPod("other", 20))
		b.Run(5 * time.Second)
		b.Delete("uid-old")
		b.Delete("uid-other")
		b.Run(time.Second)
		p := heavyPod("new", 1)
		p.UID = uid
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = two
		b.Apply(p)
		b.Run(time.Second)
		require.Contains(t, b.Transcript(), "event AdmissionDeferred")
		ended, err := b.Node().Evict(uid, node.Eviction{Message: "there is no room"})
		require.NoError(t, err)
		b.Run(time.Second)
		select {
		case <-ended.Done():
			assert.NoError(t, ended.Err())
		default:
			t.Error("nothing runs, and nothing is to be waited for")
		}
		b.Run(time.Minute)
		assert.Equal(t, "Failed Evicted", podState(b, uid))
		for _, known := range b.Node().Pods() {
			assert.Equal(t, "there is no room", known.Status.Message)
			assert.True(t, slices.ContainsFunc(known.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget }), uid)
		}
		assert.Empty(t, runningContainers(b.Machine()))
		b.Stop()
	}
}

// TestWaiting_AdmittedItHasNoReason: why a pod waited to be admitted is no reason of
// what holds it up then.
func TestWaiting_AdmittedItHasNoReason(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavyPod("old", 5))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(time.Second)
	b.Apply(heavyPod("new", 1))
	b.Run(time.Second)
	require.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-new"))
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true})
	b.Run(10 * time.Second)
	assert.Equal(t, "Pending ", podState(b, "uid-new"))
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	b.Run(time.Minute)
	assert.Equal(t, "Running ", podState(b, "uid-new"))
	b.Stop()
}

// failStops makes the stop calls of the runtime fail until mend is called.
func failStops(faults *faulty.Faults) (mend func(), err error) {
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
		config.Pods.FromAPIServer = fromAPIServer
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config, Wrap: faults.Wrap})
		b.Apply(heavyPod("old", 20))
		b.Run(5 * time.Second)
		mend, err := failStops(faults)
		require.NoError(t, err)
		b.Delete("uid-old")
		b.Run(time.Second)
		b.Apply(heavyPod("new", 1))
		b.Run(48 * time.Second)
		assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-new"))
		b.Run(2 * time.Second)
		if fromAPIServer {
			assert.Equal(t, "Failed OutOfcpu", podState(b, "uid-new"))
		} else {
			assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-new"))
		}
		mend()
		b.Run(5 * time.Minute)
		if fromAPIServer {
			assert.Equal(t, "Failed OutOfcpu", podState(b, "uid-new"), "it was said, and holds")
		} else {
			assert.Equal(t, "Running ", podState(b, "uid-new"))
		}
		b.Stop()
	}
}

// TestWaiting_ExplainSaysForWhat, from the first moment on, and an event has.
func TestWaiting_ExplainSaysForWhat(t *testing.T) {
	config := oneCPU()
	config.Pods.FromAPIServer = true
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	b.Apply(heavyPod("old", 20))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(5 * time.Second)
	b.Apply(heavyPod("new", 1))
	b.Run(time.Second)
	assert.Equal(t, "default/new is Pending: it is not admitted yet: the node has not enough cpu: requested 1, used 1, capacity 1; "+
		"it waits for the end of default/old, and is rejected in 44s if it still waits then", explanationSentence(t, b, "uid-new"))
	b.Run(20 * time.Second)
	assert.Equal(t, "default/new is Running: its container runs and is ready", explanationSentence(t, b, "uid-new"))
	for _, p := range b.Node().Pods() {
		assert.Empty(t, p.Status.Message, "nothing is left of it")
	}
	b.Stop()
}

// TestWaiting_ForAPodThatAFormerAgentHasStarted: what that pod takes is read from its
// sandbox, until the node has ended it as an orphan.
func TestWaiting_ForAPodThatAFormerAgentHasStarted(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavyPod("old", 20))
	b.Run(5 * time.Second)
	b.Crash()
	b.Delete("uid-old")
	b.Start()
	b.Apply(heavyPod("new", 1))
	b.Run(time.Second)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-new"))
	for range 600 {
		b.Run(100 * time.Millisecond)
		assert.LessOrEqual(t, runningNow(b), 1, "never two on one cpu")
	}
	assert.Equal(t, "Running ", podState(b, "uid-new"))
	b.Stop()
}

// TestWaiting_ADrainRefusesWhoWaits: a drain rejects waiting pods, because the node takes no more pods.
func TestWaiting_ADrainRefusesWhoWaits(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavyPod("old", 20))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(time.Second)
	b.Apply(heavyPod("new", 1))
	b.Run(time.Second)
	b.Go(func() { _ = b.Node().Drain(t.Context(), node.DrainOptions{}) })
	b.Run(time.Minute)
	assert.Equal(t, "Failed NodeShutdown", podState(b, "uid-new"))
	assert.Zero(t, runningNow(b))
	b.Stop()
}

// TestWaiting_StaticPodsWaitAsLongAsItTakes: a static pod waits without a limit, beside pods of an API server, which
// have one.
func TestWaiting_StaticPodsWaitAsLongAsItTakes(t *testing.T) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	files := source.NewHandle()
	config := oneCPU()
	config.Pods.FromAPIServer, config.Pods.Sources = true, map[string]source.Source{"file": files}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config, Wrap: faults.Wrap})
	b.Apply(heavyPod("old", 20))
	b.Run(5 * time.Second)
	mend, err := failStops(faults)
	require.NoError(t, err)
	b.Delete("uid-old")
	b.Run(time.Second)
	static := heavyPod("etcd", 1)
	require.NoError(t, files.Apply(static))
	b.Run(10 * time.Minute)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, static.UID))
	mend()
	b.Run(5 * time.Minute)
	assert.Equal(t, "Running ", podState(b, static.UID))
	b.Stop()
}

// TestWaiting_TheSameUIDWaitsBehindItself: a pod that is desired again, and that
// also waits for another pod, starts once, when both have ended.
func TestWaiting_TheSameUIDWaitsBehindItself(t *testing.T) {
	config := oneCPU()
	config.Scheduling.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	b.Apply(heavyPod("again", 10))
	b.Apply(heavyPod("other", 40))
	b.Run(5 * time.Second)
	b.Delete("uid-again")
	b.Delete("uid-other")
	b.Run(time.Second)
	large := heavyPod("again", 10)
	large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2")
	b.Apply(large)
	b.Run(time.Second)
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-again"))
	b.Run(30 * time.Second) // Its own previous incarnation is over.
	assert.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, podState(b, "uid-again"))
	assert.Equal(t, 1, runningNow(b))
	b.Run(30 * time.Second)
	assert.Equal(t, "Running ", podState(b, "uid-again"))
	assert.Equal(t, 1, runningNow(b))
	b.Stop()
}
