package podworkers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podworkers"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

// historyGenerator runs random histories from a simulation's seed: a few pods and two full names,
// any update at any time, and a syncer that is slow, fails, panics, blocks and reports pods as
// completed.
type historyGenerator struct {
	*Stepper
	t       *testing.T
	version int64
	wanted  map[types.UID]*v1.Pod
	order   []types.UID
	handles []*podworkers.Completion
}

func newHistoryGenerator(t *testing.T, seed uint64) *historyGenerator {
	config := Config{Seed: seed}
	if seed%2 == 1 {
		config.MaxSyncs, config.MaxTerminations = 2, 2
	}
	h := &historyGenerator{t: t, wanted: map[types.UID]*v1.Pod{}}
	config.Jitter = func() float64 { return h.Float64() }
	h.Stepper = newSimulation(t, config)
	return h
}

// randomBelow returns a random number below n, from the seed.
func (h *historyGenerator) randomBelow(n int) int { return int(h.Float64() * float64(n)) }

func (h *historyGenerator) randomPod() *v1.Pod {
	h.version++
	options := []Option{Version(h.version), Grace(int64(h.randomBelow(40)))}
	switch h.randomBelow(12) {
	case 0:
		options = append(options, Deleted(int64(h.randomBelow(30))))
	case 1:
		options = append(options, Phase(v1.PodFailed))
	}
	if n := h.randomBelow(6); n < 3 {
		return Pod("one", append(options, Static(), UID(types.UID(fmt.Sprint("one-", n))))...)
	}
	return Pod(fmt.Sprint("pod-", h.randomBelow(3)), options...)
}

// everybody is every UID of the histories.
var everybody = []types.UID{"one-0", "one-1", "one-2", "pod-0", "pod-1", "pod-2", "pod-3"}

func (h *historyGenerator) randomReplies() (list []Reply) {
	for range 1 + h.randomBelow(3) {
		r := Reply{Takes: time.Duration(h.randomBelow(4)) * time.Second}
		switch h.randomBelow(10) {
		case 0:
			r.Err = errors.New("boom")
		case 1:
			r.Panic = "boom"
		case 2:
			r.Takes = time.Hour
		case 3:
			r.IgnoresContext = true
		case 4:
			r.Ends = true
		case 5:
			r.Err = podworkers.RetryAfter(errors.New("boom"), h.Now().Add(time.Duration(h.randomBelow(90)-10)*time.Second))
		case 6:
			r.Err = podworkers.Terminal(errors.New("boom"))
		case 7:
			r.Err = errors.Join(errors.New("boom"), runtime.ErrNetworkNotReady)
		}
		list = append(list, r)
	}
	return list
}

func (h *historyGenerator) takeAction() {
	pod := h.randomPod()
	switch h.randomBelow(14) {
	case 0, 1, 2:
		h.desirePod(pod)
		h.Create(pod)
	case 3, 4:
		h.desirePod(pod)
		h.Update(pod)
	case 5:
		h.handles = append(h.handles, h.KillWithin(pod, int64(h.randomBelow(20))))
	case 6:
		h.handles = append(h.handles, h.KillRunning(Running(pod.UID)))
	case 7:
		delete(h.wanted, pod.UID)
		h.SyncKnown(h.desiredPods()...)
	case 8, 9:
		h.Syncer.Script(pod.UID, 0, h.randomReplies()...)
	case 10:
		h.Cache.SetLatency(time.Duration(h.randomBelow(3)) * time.Second)
	case 11:
		h.Cache.Fail(pod.UID, errors.New("down"))
	case 12:
		h.Cache.Fail(pod.UID, nil)
	case 13:
		h.Cache.Hang(pod.UID)
	}
	switch h.randomBelow(4) {
	case 0:
		h.Advance(time.Duration(h.randomBelow(15)) * time.Second)
	case 1:
		h.RunUntilIdle()
	case 2:
		h.Step()
	}
	if h.randomBelow(10) == 0 {
		h.Cache.Resume(pod.UID)
	}
}

func (h *historyGenerator) desirePod(pod *v1.Pod) {
	if h.wanted[pod.UID] == nil {
		h.order = append(h.order, pod.UID)
	}
	h.wanted[pod.UID] = pod
}

func (h *historyGenerator) desiredPods() (pods []*v1.Pod) {
	for _, uid := range h.order {
		if pod := h.wanted[uid]; pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// runUntilCalm removes all faults and runs until the workers are idle. Desired pods that are unknown are
// created again, as housekeeping does.
func (h *historyGenerator) runUntilCalm() {
	h.Cache.SetLatency(0)
	for _, uid := range everybody {
		h.Cache.Fail(uid, nil)
		h.Cache.Resume(uid)
		h.Syncer.Script(uid, 0, Reply{})
	}
	for range 4 {
		h.SyncKnown()
		h.Advance(time.Hour)
	}
}

// playHistory runs one history of some length. The cleanup of simulation checks Rules.
func playHistory(t *testing.T, seed uint64, length int) *historyGenerator {
	h := newHistoryGenerator(t, seed)
	for range length {
		h.takeAction()
	}
	return h
}

func TestHistory_I1ToI20_Random(t *testing.T) {
	for seed := range uint64(longtest.Count(50, 400)) {
		h := playHistory(t, seed, 80)
		for _, uid := range everybody { // I19: a pod whose call is blocked can be removed.
			h.Syncer.Script(uid, syncPod, Reply{Blocks: true})
		}
		h.Advance(time.Minute)
		h.runUntilCalm()
		// I15, I19, I22: no pod is desired at the end, so no record is left.
		for _, uid := range everybody {
			require.False(t, h.Workers.View(uid).Known, "seed %d: %s\n%s", seed, uid, h.Transcript())
		}
		require.Equal(t, 1, h.Coroutines(), "seed %d", seed)
		assertResolved(t, h.handles...)
		for i, c := range h.handles {
			if err := c.Err(); err != nil {
				require.ErrorIs(t, err, podworkers.ErrPodDesired, "seed %d: kill %d", seed, i)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// Without faults the last update is synced, and errors are retried.
func TestHistory_I8_I17_LastUpdateIsSynced(t *testing.T) {
	for seed := range uint64(longtest.Count(25, 100)) {
		h := playHistory(t, seed, 60)
		h.runUntilCalm()
		start := h.Now()
		for i := range 4 {
			pod := Pod(fmt.Sprint("pod-", i), Version(1000+int64(i)))
			h.Syncer.Script(pod.UID, 0, Reply{Err: errors.New("boom")}, Reply{})
			h.Create(pod)
		}
		h.Advance(90 * time.Second)
		until := h.Now().Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		require.NoError(t, Rules{Until: until}.Check(h.Trace.Events()), "seed %d\n%s", seed, h.Transcript())
		for i := range 4 {
			uid := types.UID(fmt.Sprint("pod-", i))
			assert.Contains(t, h.Transcript(), fmt.Sprintf("sync v%d", 1000+i), "%s since %s", uid, start)
		}
	}
}

func TestHistory_I41_SameSeedSameTrace(t *testing.T) {
	different := map[string]bool{}
	for seed := range uint64(30) {
		first, second := playHistory(t, seed, 60).Transcript(), playHistory(t, seed, 60).Transcript()
		require.Equal(t, first, second, "seed %d", seed)
		different[first] = true
	}
	assert.Len(t, different, 30)
}

// A crash at every step of one history: all coroutines end, no call is made afterwards, and new
// workers with the same cache and syncer become idle.
func TestHistory_F75_CrashAtEveryStep(t *testing.T) {
	for step := 1; ; step++ {
		h := newHistoryGenerator(t, 3)
		h.CrashAt(step)
		for i := 0; i < 150 && !h.Crashed(); i++ {
			h.takeAction()
		}
		if !h.Crashed() {
			require.Greater(t, step, 100, "the history is long enough to be worth it")
			return
		}
		calls := len(uidsOf(h.Stepper))
		require.Zero(t, h.Coroutines())
		h.Restart()
		require.Equal(t, calls, len(uidsOf(h.Stepper)), "nobody calls after a crash")
		h.Create(Pod("pod-0", Version(10_000)))
		h.runUntilCalm()
		require.Equal(t, 1, h.Coroutines())
		h.Stop()
		_, ended := h.RunResult()
		require.True(t, ended)
	}
}

// A crash in the middle of a call, made by the call itself: the waiting coroutines end, and no
// other call is made although there is work for one.
func TestCrash_InACall(t *testing.T) {
	node := newSimulation(t, Config{})
	node.Syncer.Script("a", syncPod, Reply{Takes: time.Second, Do: func(context.Context, Call) {
		node.Update(Pod("a"))
		node.Crash()
	}})
	node.Create(Pod("a"), Pod("b"))
	node.Syncer.Script("b", syncPod, Reply{Takes: time.Minute})
	node.Advance(time.Hour)
	require.Zero(t, node.Coroutines())
	assert.Len(t, uidsOf(node), 2, node.Transcript())
}
