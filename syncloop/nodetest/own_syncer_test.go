package nodetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// tasks is a foreign PodSyncer: a pod is a task of three seconds, and a task
// that is cut short begins again.
type tasks struct{ parts node.SyncerParts }

func (s tasks) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	s.parts.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	if err := podworkers.Wait(ctx, 3*time.Second); err != nil {
		return false, err
	}
	s.parts.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodSucceeded})
	return true, nil
}

func (s tasks) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, change podworkers.PodStatusFunc) error {
	if status, ok := s.parts.Status.GetPodStatus(pod.UID); ok && change != nil {
		change(&status)
		s.parts.Status.SetPodStatus(pod, status)
	}
	return podworkers.Wait(ctx, time.Second)
}

func (s tasks) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

func (s tasks) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	s.parts.Status.TerminatePod(pod)
	return nil
}

// TestSimulation_AForeignPodSyncer: a simulated node can use a PodSyncer whose only adaptation is that
// it waits with podworkers.Wait. Its transcript is exact, also after a crash in the middle of a task.
func TestSimulation_AForeignPodSyncer(t *testing.T) {
	run := func(seed uint64) string {
		b := nodetest.New(t, nodetest.Config{Seed: seed, Node: node.Config{
			NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) { return tasks{parts}, nil },
		}})
		b.Apply(newPod("job", nil))
		b.Run(2 * time.Second)
		b.Crash()
		b.Start()
		b.Run(2 * time.Second)
		b.AssertPhase("job", v1.PodRunning)
		b.Apply(newPod("late", nil))
		b.Run(2 * time.Second)
		b.AssertPhase("job", v1.PodSucceeded)
		_, err := b.Node().Evict("uid-late", node.Eviction{Message: "no room"})
		assert.NoError(t, err)
		b.Run(3 * time.Second)
		b.AssertPhase("late", v1.PodFailed)
		b.Stop()
		return b.Transcript()
	}
	want := run(1)
	assert.Equal(t, `        2s  the agent crashes
pod default/job
        0s  | 0/1 Running restarts=0
        5s  | 0/1 Succeeded restarts=0
pod default/late
        4s  | 0/1 Running restarts=0
        6s  event Evicted: no room
        6s  | 0/1 Evicted restarts=0
`, want)
	for seed := uint64(2); seed < 20; seed++ {
		assert.Equal(t, want, run(seed), "seed %d", seed)
	}
}
