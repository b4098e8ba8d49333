package podworkers_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	cri "github.com/podkeel/podkeel/runtime"
)

// I22: of a finished pod only its stage is kept, and of dropped content nothing at all.
func TestLeftovers_I22_ContentsAreLetGo(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncTerminatingPod, Reply{Takes: 5 * time.Second})
	pod := func(version int64) (*v1.Pod, weak.Pointer[v1.Pod]) {
		p := Pod("a", Version(version))
		return p, weak.Make(p)
	}
	first, weakFirst := pod(1)
	node.Create(first)
	node.RunUntilIdle()
	node.Kill(first)
	node.RunUntilIdle()
	second, weakSecond := pod(2)
	node.Create(second) // It waits until the first one has finished,
	third, weakThird := pod(3)
	node.Kill(third) // and is dropped by the kill.
	node.RunUntilIdle()
	runtime.GC()
	assert.Nil(t, weakSecond.Value(), "what waited")
	node.Advance(5 * time.Second)
	runtime.GC()
	assert.Nil(t, weakFirst.Value(), "what was replaced")
	assert.Nil(t, weakThird.Value(), "what has finished")
	assert.True(t, node.Workers.View("a").Known)
}

func TestLeftovers_B094_NoRetryOfAFinishedPod(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"), Pod("b"))
	node.RunUntilIdle()
	assert.Equal(t, 2, node.Workers.Queued())
	node.Kill(Pod("a"))
	node.RunUntilIdle()
	assert.Equal(t, 1, node.Workers.Queued())
	node.SyncKnown()
	node.RunUntilIdle()
	node.SyncKnown()
	assert.Zero(t, node.Workers.Queued())
}

// Goroutines that a call has left are cancelled when it returns.
func TestLeftovers_ContextCancelledAfterCall(t *testing.T) {
	node := newSimulation(t, Config{})
	var left context.Context
	node.Syncer.Script("a", syncPod, Reply{Do: func(ctx context.Context, _ Call) { left = ctx }})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	assert.ErrorIs(t, left.Err(), context.Canceled)
}

// blank is a cache that returns nil for an unknown pod.
type blank struct{}

func (blank) Get(types.UID) (*cri.PodStatus, error) { return nil, nil }
func (blank) Mark() uint64                          { return 0 }
func (blank) NewerThan(context.Context, types.UID, uint64) (*cri.PodStatus, error) {
	return nil, nil
}

func TestObserve_B006_NoStatusIsAnEmptyOne(t *testing.T) {
	node := newSimulation(t, Config{})
	syncer := NewSyncer(node.Clock())
	var seen []*cri.PodStatus
	syncer.Script("", 0, Reply{Do: func(_ context.Context, c Call) { seen = append(seen, c.Status) }})
	w, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: blank{}, Clock: node.Clock()})
	require.NoError(t, err)
	node.Go(func(ctx context.Context) { _ = w.Run(ctx) })
	require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{Pod: Pod("a")}))
	require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{Pod: Pod("over", Phase(v1.PodFailed))}))
	assert.True(t, w.View("over").IsPodKnownTerminated())
	node.Advance(time.Second)
	assert.ElementsMatch(t, []*cri.PodStatus{{UID: "a"}, {UID: "over"}}, seen)
}

// B-013: the kill of a running pod, based on a current observation, terminates the known pod with
// that UID in the way of its content.
func TestKill_B013_WhatRunsIsAKnownPod(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	killed := node.KillRunning(Running("a"))
	node.RunUntilIdle()
	assertResolved(t, killed)
	require.NoError(t, killed.Err())
	assert.Equal(t, 1, countInTranscript(node, "SyncTerminatingPod within 1s: ok"))
	assert.True(t, node.Workers.View("a").Deleted, "B-014")
}

// TestMuseum_K139823_NoContextOutlivesItsSync: in the kubelet each sync derived a context from the
// pod's context and did not cancel it, so that a million contexts existed after a week. Here each
// context ends with its sync.
func TestMuseum_K139823_NoContextOutlivesItsSync(t *testing.T) {
	node := newSimulation(t, Config{})
	var all []context.Context
	replies := make([]Reply, 1000)
	for i := range replies {
		replies[i].Do = func(ctx context.Context, _ Call) {
			for _, before := range all {
				require.ErrorIs(t, before.Err(), context.Canceled)
			}
			all = []context.Context{ctx}
		}
	}
	node.Syncer.Script("a", syncPod, replies...)
	for i := range replies {
		node.Update(Pod("a", Version(int64(i+1))))
		node.RunUntilIdle()
	}
	assert.ErrorIs(t, all[0].Err(), context.Canceled)
}
