package podworkers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
)

// mostAtOnce returns the highest number of concurrent calls of one class.
func mostAtOnce(node *Stepper, sync bool) (most int) {
	running := 0
	for _, e := range node.Trace.Events() {
		switch {
		case e.What == Begun && (e.Method == syncPod) == sync:
			running++
		case e.What == Ended && (e.Method == syncPod) == sync:
			running--
		}
		most = max(most, running)
	}
	return most
}

func makePods(n int) (pods []*v1.Pod, names []types.UID) {
	for i := range n {
		name := fmt.Sprintf("p%02d", i)
		pods = append(pods, Pod(name))
		names = append(names, types.UID(name))
	}
	return pods, names
}

func TestSlots_I16_FirstComeFirstServed(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 3})
	node.Syncer.Script("", syncPod, Reply{Takes: time.Second})
	pods, names := makePods(30)
	for _, pod := range pods {
		node.Create(pod)
		node.RunUntilIdle()
	}
	node.Advance(10 * time.Second)
	assert.Equal(t, 3, mostAtOnce(node, true))
	assert.Equal(t, 30, countInTranscript(node, ": ok, after 1s"), "all in the least time there is")
	// Calls that get a slot at the same moment continue in any order.
	begun := uidsOf(node)
	for i := 0; i < 30; i += 3 {
		assert.ElementsMatch(t, names[i:i+3], begun[i:i+3])
	}
}

func TestSlots_NeitherClassStarvesTheOther(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1, MaxTerminations: 1})
	node.Create(Pod("killed"))
	node.RunUntilIdle()
	node.Syncer.Script("", syncPod, Reply{Blocks: true})
	pods, _ := makePods(5)
	node.Create(pods...)
	node.RunUntilIdle()
	killed := node.Kill(Pod("killed"))
	node.RunUntilIdle()
	assertResolved(t, killed)
	require.NoError(t, killed.Err())

	node = newSimulation(t, Config{MaxSyncs: 1, MaxTerminations: 1})
	node.Create(pods...)
	node.RunUntilIdle()
	node.Syncer.Script("", syncTerminatingPod, Reply{Blocks: true})
	for _, pod := range pods {
		node.Kill(pod)
	}
	node.RunUntilIdle()
	node.Create(Pod("wanted"))
	node.RunUntilIdle()
	assert.Equal(t, 1, countInTranscript(node, "wanted  SyncPod create: ok"))
	assert.Equal(t, 1, mostAtOnce(node, false))
}

// A slot that is granted to a call at the moment in which the call is cancelled goes to the next
// call.
func TestSlots_HandOverMeetsCancellation(t *testing.T) {
	for seed := range uint64(50) {
		node := newSimulation(t, Config{MaxSyncs: 1, Seed: seed})
		node.Syncer.Script("a", syncPod, Reply{Takes: time.Second})
		node.Create(Pod("a"))
		node.RunUntilIdle()
		node.Create(Pod("b"))
		node.RunUntilIdle()
		node.Create(Pod("c"))
		node.RunUntilIdle()
		node.Go(func(ctx context.Context) { // At the moment in which a ends.
			_ = executor.Over(node.Clock()).Sleep(ctx, time.Second)
			node.Kill(Pod("b"))
		})
		node.Advance(2 * time.Second)
		assert.Equal(t, 1, countInTranscript(node, "c  SyncPod create: ok"), "seed %d\n%s", seed, node.Transcript())
		node.Create(Pod("d"))
		node.RunUntilIdle()
		assert.Equal(t, 1, countInTranscript(node, "d  SyncPod create: ok"), "seed %d: the slot is free again", seed)
	}
}

func TestSlots_NotHeldWhileWaitingForAStatus(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1})
	node.Cache.Hang("a")
	node.Create(Pod("a"), Pod("b"))
	node.RunUntilIdle()
	assert.Equal(t, []types.UID{"b"}, uidsOf(node))
}

// replyThatSleepsWithoutSlot returns a reply in which concurrent parts of the call sleep without a slot: one wait, two
// waits, and so on.
func replyThatSleepsWithoutSlot(node *Stepper, parts int, wait time.Duration) Reply {
	return Reply{Do: func(ctx context.Context, _ Call) {
		seam := executor.Over(node.Clock())
		executor.Each(seam, 0, parts, func(i int) {
			podworkers.WithoutSlot(ctx, func() { _ = seam.Sleep(ctx, wait*time.Duration(i+1)) })
		})
	}}
}

func TestSlots_WithoutSlotLetsOthersWork(t *testing.T) {
	node := newSimulation(t, Config{MaxTerminations: 1})
	node.Syncer.Script("", syncTerminatingPod, replyThatSleepsWithoutSlot(node, 3, 10*time.Second))
	pods, _ := makePods(4)
	node.Create(pods...)
	node.RunUntilIdle()
	for _, pod := range pods {
		node.Kill(pod)
	}
	node.Advance(29 * time.Second)
	assert.Equal(t, 4, mostAtOnce(node, false), "all wait at once")
	node.Advance(time.Second)
	assert.Equal(t, 4, countInTranscript(node, "is finished"))
	// The number of free slots is one again after all releases.
	node.Syncer.Script("", syncTerminatingPod, Reply{Takes: time.Second})
	mark := len(node.Trace.Events())
	more := []*v1.Pod{Pod("x"), Pod("y"), Pod("z")}
	node.Create(more...)
	node.RunUntilIdle()
	for _, pod := range more {
		node.Kill(pod)
	}
	node.Advance(time.Minute)
	assert.Equal(t, 3, countInTranscript(node, "ok, after 1s"))
	late := &Stepper{Trace: traceOf(node.Trace.Events()[mark:])}
	assert.Equal(t, 1, mostAtOnce(late, false), late.Transcript())
}

func traceOf(events []Event) *Trace {
	trace := NewTrace(nil)
	for _, e := range events {
		trace.Add(e)
	}
	return trace
}

// A cancelled call does not wait for a slot; it only returns.
func TestSlots_WithoutSlot_ACancelledCallDoesNotWait(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1})
	node.Syncer.Script("a", syncPod, replyThatSleepsWithoutSlot(node, 1, time.Hour))
	node.Syncer.Script("b", syncPod, Reply{Blocks: true, IgnoresContext: true})
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Create(Pod("b"))
	node.RunUntilIdle()
	killed := node.Kill(Pod("a"))
	node.RunUntilIdle()
	assertResolved(t, killed)
}

func TestSlots_WithoutSlot_ElsewhereIsJustACall(t *testing.T) {
	called := 0
	podworkers.WithoutSlot(context.Background(), func() { called++ })
	podworkers.WithoutSlot(podworkers.WithIncarnation(context.Background(), 1), func() { called++ })
	assert.Equal(t, 2, called)
}

func TestSlots_APanicGivesTheSlotBack(t *testing.T) {
	node := newSimulation(t, Config{MaxSyncs: 1})
	node.Syncer.Script("a", syncPod, Reply{Do: func(ctx context.Context, _ Call) {
		podworkers.WithoutSlot(ctx, func() { panic("boom") })
	}})
	node.Create(Pod("a"), Pod("b"), Pod("c"))
	node.Advance(30 * time.Second)
	assert.Equal(t, 1, countInTranscript(node, "b  SyncPod create: ok"))
	assert.Equal(t, 1, countInTranscript(node, "c  SyncPod create: ok"))
}
