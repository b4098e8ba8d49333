package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
)

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := pleg.New(pleg.Config{RelistPeriod: -1, InspectTimeout: -time.Second, MaxInspections: -1})
	require.EqualError(t, err, `pleg: Config.Runtime is missing
pleg: Config.RelistPeriod is negative
pleg: Config.InspectTimeout is negative
pleg: Config.MaxInspections is negative`)
	_, err = pleg.New(pleg.Config{Runtime: newHarness(nil), RelistThreshold: 10 * time.Second})
	require.EqualError(t, err, "pleg: Config.RelistThreshold 10s is not above the periods 1s and 30s")
	_, err = pleg.New(pleg.Config{Runtime: newHarness(nil), RelistPeriod: time.Hour, SafetyPeriod: 10 * time.Minute})
	require.NoError(t, err, "who lists seldom is not told to say when that is too seldom")
}

// The same with goroutines: a pod hangs, readers of other pods get their results at once, and when
// Run has returned no goroutine is left.
func TestRun_I39_UnderGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreamer(clock.RealClock{})
		s.setContainer("a", "ca", runtime.StateRunning)
		s.setContainer("b", "cb", runtime.StateRunning)
		s.withLock(func() { s.mu.hang["a"] = true })
		p, err := pleg.New(pleg.Config{Runtime: s})
		require.NoError(t, err)
		sub := p.Subscribe(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		assert.Equal(t, []pleg.Change{{UID: "b", Events: pleg.ContainerStarted}}, sub.TakeAll(nil))

		hung := make(chan error, 1)
		go func() {
			_, err := p.NewerThan(context.Background(), "a", p.Mark())
			hung <- err
		}()
		for range 20 {
			s.setContainer("b", fmt.Sprint(time.Now().UnixNano()), runtime.StateRunning)
			began := time.Now()
			p.RequestRelist("b")
			status, err := p.NewerThan(ctx, "b", p.Mark())
			require.NoError(t, err)
			assert.Equal(t, s.mu.pods["b"].version, statusVersion(status))
			assert.Zero(t, time.Since(began))
			require.NoError(t, waitOne(100*time.Millisecond))
		}
		cancel()
		require.NoError(t, <-ended)
		require.ErrorIs(t, <-hung, pleg.ErrStopped)
	})
}

// waitOne lets time pass in the bubble.
func waitOne(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return ctx.Err()
}

func TestRelist_SingleStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(clock.RealClock{})
		for i := range 20 {
			w.setContainer(types.UID(fmt.Sprintf("p%02d", i)), fmt.Sprint("c", i), runtime.StateRunning)
		}
		w.withLock(func() { w.mu.statusTakes = time.Second; w.mu.hang["p03"] = true })
		p, err := pleg.New(pleg.Config{Runtime: w, MaxInspections: 5})
		require.NoError(t, err)
		sub := p.Subscribe(nil)

		go func() { assert.NoError(t, p.Relist(t.Context())) }()
		synctest.Wait()
		require.ErrorIs(t, p.Relist(t.Context()), pleg.ErrRunning)
		require.ErrorIs(t, p.Run(t.Context()), pleg.ErrRunning, "it is no second Run")
		require.NoError(t, waitOne(11*time.Second))
		assert.Len(t, sub.TakeAll(nil), 20)
		assert.Equal(t, 5, w.mu.most)
		_, err = p.Get("p03")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		status, err := p.NewerThan(t.Context(), "p04", 0)
		require.NoError(t, err)
		assert.Equal(t, "[c4 running]", formatStatus(status))

		w.withLock(func() { w.mu.hang["p03"] = false; w.mu.listErr = runtime.ErrNotReady })
		require.ErrorIs(t, p.Relist(t.Context()), runtime.ErrNotReady)
		assert.Empty(t, sub.TakeAll(nil))
		w.withLock(func() { w.mu.listErr = nil })
		require.NoError(t, p.Relist(t.Context()))
		assert.Equal(t, []pleg.Change{{UID: "p03", Events: pleg.ContainerStarted}}, sub.TakeAll(nil))
	})
}

// A cancelled step says nothing about any pod.
func TestRelist_CancelledConcludesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(clock.RealClock{})
		w.setContainer("a", "c", runtime.StateRunning)
		w.withLock(func() { w.mu.hang["a"] = true })
		p, err := pleg.New(pleg.Config{Runtime: w})
		require.NoError(t, err)
		sub := p.Subscribe(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.Relist(ctx), context.DeadlineExceeded)
		assert.Empty(t, sub.TakeAll(nil))
		_, err = p.Get("a")
		require.ErrorIs(t, err, pleg.ErrUnobserved)
		w.withLock(func() { w.mu.hang["a"] = false })
		require.NoError(t, p.Relist(t.Context()))
		assert.Equal(t, []pleg.Change{{UID: "a", Events: pleg.ContainerStarted}}, sub.TakeAll(nil))
	})
}

// liar returns invalid results (F62).
type liar struct{ status *runtime.PodStatus }

func (liar) ListPods(context.Context) ([]runtime.Pod, error) {
	return []runtime.Pod{{UID: "a", Containers: []runtime.Container{{ID: "c", State: 99}}}, {}}, nil
}
func (l liar) PodStatus(context.Context, types.UID) (*runtime.PodStatus, error) { return l.status, nil }

func TestRelist_F62_InvalidResultIsAnError(t *testing.T) {
	p, err := pleg.New(pleg.Config{Runtime: liar{}})
	require.NoError(t, err)
	require.NoError(t, p.Relist(t.Context()))
	_, err = p.Get("a")
	require.EqualError(t, err, "pleg: inspect: the runtime returned neither a status nor an error")

	p, err = pleg.New(pleg.Config{Runtime: liar{&runtime.PodStatus{UID: "b"}}})
	require.NoError(t, err)
	require.NoError(t, p.Relist(t.Context()))
	_, err = p.Get("a")
	require.EqualError(t, err, `pleg: inspect: the runtime was asked about pod "a" and answered about "b"`)
}

func TestHooks_SeeEveryCall(t *testing.T) {
	w := newHarness(nil)
	w.setContainer("a", "c", runtime.StateRunning)
	var seen []string
	p, err := pleg.New(pleg.Config{Runtime: w, Hooks: pleg.Hooks{
		Relisted: func(r pleg.Relisting) {
			seen = append(seen, fmt.Sprintf("list #%d pods=%d mismatched=%d err=%v", r.Number, r.Pods, r.Mismatched, r.Err))
		},
		Inspected: func(i pleg.Inspection) {
			seen = append(seen, fmt.Sprintf("inspect #%d %s %v err=%v", i.Number, i.UID, i.Events, i.Err))
		},
	}})
	require.NoError(t, err)
	require.NoError(t, p.Relist(t.Context()))
	require.NoError(t, p.Relist(t.Context()))
	w.mu.listErr = runtime.ErrNotReady
	require.Error(t, p.Relist(t.Context()))
	assert.Equal(t, []string{
		"list #1 pods=1 mismatched=1 err=<nil>",
		"inspect #2 a ContainerStarted err=<nil>",
		"list #3 pods=1 mismatched=0 err=<nil>",
		"list #4 pods=0 mismatched=0 err=pleg: list: runtime: not ready",
	}, seen)
}

// A second Run is refused, during the first and after it. A Relist after Run is refused too.
func TestRun_IsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pleg.New(pleg.Config{Runtime: newHarness(clock.RealClock{})})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, p.Run(t.Context()), runtime.ErrSecondRun)
		require.ErrorIs(t, p.Relist(t.Context()), pleg.ErrRunning)
		cancel()
		require.NoError(t, <-ended)
		require.EqualError(t, p.Run(t.Context()), "pleg: Run was called a second time")
		require.ErrorIs(t, p.Run(t.Context()), runtime.ErrSecondRun)
		require.ErrorIs(t, p.Relist(t.Context()), pleg.ErrStopped)
	})
}
