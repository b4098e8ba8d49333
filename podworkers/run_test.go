package podworkers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := podworkers.New(podworkers.Config{MaxSyncs: -1})
	require.Error(t, err)
	assert.Equal(t, `podworkers: Config.Syncer is missing
podworkers: Config.Cache is missing
podworkers: Config.MaxSyncs and MaxTerminations cannot be negative`, err.Error())
}

func TestRun_UpdatesBeforeRunAreSynced(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"), Pod("b"), Pod("c"))
	node.Kill(Pod("b"))
	assert.Empty(t, uidsOf(node))
	node.RunUntilIdle()
	assert.Equal(t, 2, countInTranscript(node, "SyncPod create: ok"))
	assert.Equal(t, 1, countInTranscript(node, "b  is finished"))
}

// A pod that is forgotten before Run releases its slot to another pod, whose worker must still
// start.
func TestRun_APlaceUsedAgainBeforeIt(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"))
	node.SyncKnown()
	require.False(t, node.Workers.View("a").Known)
	node.Create(Pod("b"))
	node.RunUntilIdle()
	node.Update(Pod("b"))
	node.RunUntilIdle()
	assert.Equal(t, []types.UID{"b", "b"}, uidsOf(node))
}

func TestRun_IsCalledOnce(t *testing.T) {
	node := newSimulation(t, Config{})
	node.RunUntilIdle()
	var second, third error
	node.Go(func(ctx context.Context) { second = node.Workers.Run(ctx) })
	node.RunUntilIdle()
	require.ErrorIs(t, second, runtime.ErrSecondRun)
	node.Stop()
	node.Go(func(ctx context.Context) { third = node.Workers.Run(ctx) })
	node.RunUntilIdle()
	require.ErrorIs(t, third, runtime.ErrSecondRun)
	require.EqualError(t, third, "podworkers: Run was called a second time")
}

func TestRun_I43_NothingBeginsAfterTheEnd(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1})
	node.Syncer.Script("a", syncPod, Reply{Blocks: true})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Update(Pod("a")) // Waits for the call.
	node.Create(Pod("b")) // Waits for a slot.
	node.Cache.Hang("c")
	node.Create(Pod("c")) // Waits for a status.
	node.RunUntilIdle()
	node.Stop()
	err, ended := node.RunResult()
	require.NoError(t, err)
	assert.True(t, ended)
	assert.Equal(t, []types.UID{"a"}, uidsOf(node))
	assert.Zero(t, node.Coroutines())
}

func TestRun_EndsWhenItsContextHasEndedBefore(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"))
	node.Stop()
	_, ended := node.RunResult()
	assert.True(t, ended)
	assert.Empty(t, uidsOf(node))
}

func TestRun_AfterIt(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Stop()
	require.ErrorIs(t, node.UpdatePod(podworkers.UpdatePodOptions{Pod: Pod("a")}), podworkers.ErrStopped)
	require.ErrorIs(t, node.UpdatePod(podworkers.UpdatePodOptions{Pod: Pod("b")}), podworkers.ErrStopped)
	killed := node.Kill(Pod("a"))
	assertResolved(t, killed)
	require.ErrorIs(t, killed.Err(), podworkers.ErrStopped)
	assert.True(t, node.Workers.View("a").Known, "it can still be asked")
	node.SyncKnown()
	node.Workers.Step()
	node.Advance(time.Hour)
	assert.Equal(t, []types.UID{"a"}, uidsOf(node))
	assert.Zero(t, node.Coroutines())
}

func TestRun_NamesCallsThatIgnoreTheContext(t *testing.T) {
	node := newSimulation(t, Config{DrainTimeout: 5 * time.Second})
	node.Syncer.Script("deaf", syncPod, Reply{Blocks: true, IgnoresContext: true})
	node.Syncer.Script("mad", syncTerminatingPod, Reply{Takes: time.Hour, IgnoresContext: true})
	node.Syncer.Script("fine", syncPod, Reply{Takes: time.Hour})
	node.Create(Pod("mad"))
	node.RunUntilIdle()
	node.Kill(Pod("mad"))
	node.Create(Pod("fine"), Pod("deaf"))
	node.RunUntilIdle()
	node.Stop()
	_, ended := node.RunResult()
	require.False(t, ended)
	node.Advance(5 * time.Second)
	err, _ := node.RunResult()
	require.ErrorIs(t, err, podworkers.ErrNotDrained)
	assert.Equal(t, "podworkers: syncs ignore that their context has ended: default/deaf, default/mad", err.Error())
}

func TestRun_NegativeDrainTimeoutWaitsForEver(t *testing.T) {
	node := newSimulation(t, Config{DrainTimeout: -1})
	node.Syncer.Script("deaf", syncPod, Reply{Blocks: true, IgnoresContext: true})
	node.Create(Pod("deaf"))
	node.RunUntilIdle()
	node.Stop()
	node.Advance(24 * time.Hour)
	_, ended := node.RunResult()
	require.False(t, ended)
	node.Syncer.Release()
	node.RunUntilIdle()
	err, ended := node.RunResult()
	assert.NoError(t, err)
	assert.True(t, ended)
}

func TestUpdate_F87_InvalidUpdates(t *testing.T) {
	node := newSimulation(t, Config{})
	for name, o := range map[string]podworkers.UpdatePodOptions{
		"nothing":         {},
		"a pod, no UID":   {Pod: Pod("")},
		"running, no UID": {RunningPod: Running(""), UpdateType: podworkers.SyncPodKill},
		"no such type":    {Pod: Pod("a"), UpdateType: 17},
	} {
		require.ErrorIs(t, node.Workers.UpdatePod(o), podworkers.ErrInvalid, name)
		if o.UpdateType != 17 {
			killed := node.Workers.Kill(o)
			assertResolved(t, killed)
			require.ErrorIs(t, killed.Err(), podworkers.ErrInvalid, name)
		}
	}
	assert.Zero(t, node.Workers.Generation(), "nothing has changed")
	node.RunUntilIdle()
	assert.Empty(t, node.Transcript())
}

func TestCompletion_I44_EveryWayOut(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		run  func(n *Stepper) *podworkers.Completion
		want error
	}{
		"terminated": {func(n *Stepper) *podworkers.Completion {
			n.Create(Pod("a"))
			n.RunUntilIdle()
			return n.Kill(Pod("a"))
		}, nil},
		"after errors": {func(n *Stepper) *podworkers.Completion {
			n.Syncer.Script("a", syncTerminatingPod, Reply{Err: boom}, Reply{Panic: "boom"}, Reply{})
			n.Create(Pod("a"))
			n.RunUntilIdle()
			return n.Kill(Pod("a"))
		}, nil},
		"cleanup fails": {func(n *Stepper) *podworkers.Completion {
			n.Syncer.Script("a", syncTerminatedPod, Reply{Err: boom})
			n.Create(Pod("a"))
			n.RunUntilIdle()
			return n.Kill(Pod("a"))
		}, nil},
		"finished before": {func(n *Stepper) *podworkers.Completion {
			n.Create(Pod("a"))
			n.Kill(Pod("a"))
			n.RunUntilIdle()
			return n.Kill(Pod("a"))
		}, nil},
		"terminated before": {func(n *Stepper) *podworkers.Completion {
			n.Syncer.Script("a", syncTerminatedPod, Reply{Err: boom})
			n.Create(Pod("a"))
			n.Kill(Pod("a"))
			n.RunUntilIdle()
			return n.Kill(Pod("a"))
		}, nil},
		"never started": {func(n *Stepper) *podworkers.Completion {
			n.Create(Pod("w", Static(), UID("first")), Pod("w", Static(), UID("second")))
			n.RunUntilIdle()
			return n.Kill(Pod("w", Static(), UID("second")))
		}, nil},
		"forgotten": {func(n *Stepper) *podworkers.Completion {
			n.Create(Pod("a"))
			c := n.Kill(Pod("a")) // Before Run no call was made.
			n.SyncKnown()
			return c
		}, nil},
		"runtime only": {func(n *Stepper) *podworkers.Completion {
			return n.KillRunning(Running("ghost"))
		}, nil},
		"unknown": {func(n *Stepper) *podworkers.Completion {
			return n.Kill(Pod("never heard of"))
		}, nil},
		"stopped": {func(n *Stepper) *podworkers.Completion {
			n.Syncer.Script("a", syncTerminatingPod, Reply{Blocks: true})
			n.Create(Pod("a"))
			n.RunUntilIdle()
			c := n.Kill(Pod("a"))
			n.RunUntilIdle()
			n.Stop()
			return c
		}, podworkers.ErrStopped},
		"stopped while deaf": {func(n *Stepper) *podworkers.Completion {
			n.Syncer.Script("a", syncTerminatingPod, Reply{Blocks: true, IgnoresContext: true})
			n.Create(Pod("a"))
			n.RunUntilIdle()
			c := n.Kill(Pod("a"))
			n.RunUntilIdle()
			n.Stop()
			assertResolved(t, c)
			n.Syncer.Release() // Its late success does not change the result.
			return c
		}, podworkers.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			node := newSimulation(t, Config{})
			handle := c.run(node)
			var waited error
			node.Go(func(ctx context.Context) { waited = handle.Wait(ctx) })
			node.Advance(time.Hour)
			assertResolved(t, handle)
			assert.ErrorIs(t, handle.Err(), c.want)
			assert.ErrorIs(t, waited, c.want)
		})
	}
}

func TestCompletion_ManyHandlesOneEnd(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 5 * time.Second})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	var handles []*podworkers.Completion
	for range 10 {
		handles = append(handles, node.Kill(Pod("a")))
		node.RunUntilIdle()
	}
	for _, h := range handles {
		select {
		case <-h.Done():
			t.Fatal("not yet")
		default:
			assert.NoError(t, h.Err(), "nothing is known yet")
		}
	}
	node.Advance(5 * time.Second)
	assertResolved(t, handles...)
}

func TestIncarnation_OfACall(t *testing.T) {
	node := newSimulation(t, Config{})
	var seen []uint64
	node.Syncer.Script("a", syncPod, Reply{Do: func(ctx context.Context, c Call) {
		type key struct{}
		seen = append(seen, podworkers.IncarnationFrom(context.WithValue(ctx, key{}, 1)))
	}})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Kill(Pod("a"))
	node.RunUntilIdle()
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.SyncKnown()
	node.RunUntilIdle()
	node.SyncKnown()
	node.Create(Pod("a"))
	node.RunUntilIdle()
	assert.Equal(t, []uint64{1, 2, 3}, seen, "a UID never has a number twice")
	assert.Zero(t, podworkers.IncarnationFrom(context.Background()))
	assert.EqualValues(t, 7, podworkers.IncarnationFrom(podworkers.WithIncarnation(context.Background(), 7)))
}

func TestView_PhasesOfAKill(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: time.Second})
	node.Syncer.Script("a", syncTerminatedPod, Reply{Takes: time.Second})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Kill(Pod("a"))
	v := node.Workers.View("a")
	assert.True(t, v.IsPodTerminationRequested() && !v.ShouldPodContainersBeTerminating(), "B-118")
	node.RunUntilIdle()
	v = node.Workers.View("a")
	assert.True(t, v.ShouldPodContainersBeTerminating() && v.CouldHaveRunningContainers(), "B-119")
	node.Advance(time.Second)
	v = node.Workers.View("a")
	assert.True(t, v.IsPodKnownTerminated() && !v.ShouldPodBeFinished(), "B-120")
	node.Advance(time.Second)
	assert.Equal(t, lifecycle.Finished, node.Workers.View("a").Phase())
}
