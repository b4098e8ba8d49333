package nodetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// priorityPod returns a pod with a priority that runs until the end of its grace period when it is stopped.
func priorityPod(name string, priority int32, grace int64) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Spec.Priority, p.Spec.TerminationGracePeriodSeconds = &priority, &grace
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	return p
}

// SD-2, SD-3: groups end one after the other, the lowest first, each within its period. A group that
// has ended, or has no pods, costs no time.
func TestShutdown_SD2_SD3_InOrder(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	for _, p := range []*v1.Pod{
		priorityPod("low", -5, 3), priorityPod("slow", 0, 300), priorityPod("web", 999, 7), priorityPod("high", 1000, 4), priorityPod("critical", node.SystemCriticalPriority+1000, 60),
	} {
		b.Apply(p)
	}
	b.Run(10 * time.Second)
	require.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{Groups: []node.ShutdownGroup{
		{Priority: node.SystemCriticalPriority, Period: 10 * time.Second},
		{Priority: 5000, Period: time.Hour},
		{Priority: 0, Period: 20 * time.Second},
		{Priority: 1000, Period: time.Minute},
	}}))
	assert.Equal(t, 44*time.Second, b.Now().Sub(nodetest.Epoch), "10 s, then 20 s, 4 s and 10 s")
	assert.Equal(t, []string{
		"13s  StopContainer c0 grace=3s", "17s  StopContainer c0 grace=7s", "30s  StopContainer c0 grace=20s", "34s  StopContainer c0 grace=4s", "44s  StopContainer c0 grace=10s",
	}, stopLines(b.Transcript()))
	for _, p := range b.Node().Pods() {
		assert.Equal(t, []string{"Failed", "Terminated", "Pod was terminated in response to imminent node shutdown."},
			[]string{string(p.Status.Phase), p.Status.Reason, p.Status.Message}, p.Name)
	}
	b.Stop()
}

// SD-3: a pod that is still running after the period of its group does not delay the next group, and the error at the
// end names it. The same pods stop at once with the groups of the kubelet's two settings.
func TestShutdown_SD3_APodThatHangs(t *testing.T) {
	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
		{Verb: faulty.StopContainer, Pod: "web", Do: faulty.Fail}, {Verb: faulty.StopSandbox, Pod: "web", Do: faulty.Fail}}})
	require.NoError(t, err)
	b := nodetest.New(t, nodetest.Config{Seed: 1, Wrap: faults.Wrap})
	b.Apply(priorityPod("web", 0, 5))
	b.Apply(priorityPod("critical", node.SystemCriticalPriority, 5))
	b.Run(10 * time.Second)
	err = b.Node().Drain(context.Background(), node.DrainOptions{Groups: node.ShutdownGroups(30*time.Second, 10*time.Second)})
	require.EqualError(t, err, "node: pod default/web has not terminated: context deadline exceeded")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, 36*time.Second, b.Now().Sub(nodetest.Epoch), "10 s, then 20 s with the margin, and 5 s")
	b.Crash()
}

// SD-3: a pod that is deleted while an earlier group ends is waited for with the next one, though it
// is desired no longer. It keeps its grace.
func TestShutdown_SD3_APodThatIsDeletedMeanwhile(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(priorityPod("web", 0, 20))
	b.Apply(priorityPod("critical", node.SystemCriticalPriority, 22))
	b.Run(10 * time.Second)
	var ended time.Time
	b.Go(func() {
		assert.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{Groups: node.ShutdownGroups(40*time.Second, 10*time.Second)}))
		ended = b.Now()
	})
	b.Run(5 * time.Second)
	b.Delete("uid-critical")
	b.Run(time.Minute)
	assert.Equal(t, 37*time.Second, ended.Sub(nodetest.Epoch), "15 s, then 22 s")
	assert.Equal(t, []string{"30s  StopContainer c0 grace=20s", "37s  StopContainer c0 grace=22s"}, stopLines(b.Transcript()))
	b.Stop()
}

// A context that ends tells no further group.
func TestShutdown_ItsContextEnds(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(priorityPod("web", 0, 60))
	b.Apply(priorityPod("critical", node.SystemCriticalPriority, 5))
	b.Run(10 * time.Second)
	ctx, cancel := b.WithTimeout(5 * time.Second)
	defer cancel()
	require.EqualError(t, b.Node().Drain(ctx, node.DrainOptions{Groups: node.ShutdownGroups(30*time.Second, 10*time.Second)}),
		"node: pod default/web has not terminated: context deadline exceeded")
	b.Run(time.Minute)
	assert.Equal(t, "1/1 Running restarts=0", b.Status("critical"))
	b.Stop()
}

// GraceSeconds shortens the grace periods of the groups too.
func TestShutdown_GraceSeconds(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(priorityPod("slow", 0, 60))
	b.Run(10 * time.Second)
	require.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{GraceSeconds: new(int64(2)), Groups: node.ShutdownGroups(time.Minute, 0)}))
	assert.Equal(t, []string{"12s  StopContainer c0 grace=2s"}, stopLines(b.Transcript()))
	b.Stop()
}

// SD-4: from its first moment on new pods are refused, until Undrain.
func TestShutdown_SD4_RefusesPods(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Run(time.Second)
	assert.False(t, b.Node().Health().ShuttingDown)
	require.NoError(t, b.Node().Drain(context.Background(), node.DrainOptions{Groups: node.ShutdownGroups(time.Second, 0)}))
	assert.True(t, b.Node().Health().ShuttingDown)
	b.Apply(newPod("late", []string{"serve"}))
	b.Run(time.Second)
	assert.Equal(t, "Failed NodeShutdown", podState(b, "uid-late"))
	b.Node().Undrain()
	assert.False(t, b.Node().Health().ShuttingDown)
	b.Apply(newPod("later", []string{"serve"}))
	b.Run(10 * time.Second)
	assert.Equal(t, "1/1 Running restarts=0", b.Status("later"))
	b.Stop()
}

// A node that does not run refuses, and is not shutting down.
func TestShutdown_BeforeRun(t *testing.T) {
	n, err := node.New(node.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{Groups: node.ShutdownGroups(time.Minute, 0)}), node.ErrNotRunning)
	assert.False(t, n.Health().ShuttingDown)
}
