package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestScheduler_RunUntilStopsAtEachTimerInOrder(t *testing.T) {
	for seed := range uint64(20) {
		s, p := newSimulation(t, seed)
		var woke []time.Duration
		for _, d := range []time.Duration{5, 1, 4, 2, 3, 9} {
			p.Go(func() {
				if p.Sleep(context.Background(), d*time.Second) == nil {
					woke = append(woke, p.Now().Sub(start)/time.Second)
				}
			})
		}
		s.RunUntil(start.Add(5 * time.Second)) // Work that is due exactly at the end has run too.
		assert.Equal(t, []time.Duration{1, 2, 3, 4, 5}, woke)
		assert.Equal(t, start.Add(5*time.Second), s.Now())
		next, ok := s.NextTimer()
		assert.True(t, ok)
		assert.Equal(t, start.Add(9*time.Second), next)
	}
}

func TestScheduler_AdvanceToRunsNothingAndNeverGoesBack(t *testing.T) {
	s, p := newSimulation(t, 1)
	woke := false
	p.Go(func() { woke = p.Sleep(context.Background(), time.Second) == nil })
	s.RunUntilIdle()
	s.AdvanceTo(start.Add(time.Minute))
	s.AdvanceTo(start)
	assert.False(t, woke)
	assert.Equal(t, start.Add(time.Minute), s.Now())
	_, timers := s.NextTimer()
	assert.False(t, timers, "what is due is ready")
	assert.True(t, s.Step())
	assert.True(t, woke)
	assert.False(t, s.Step())
	assert.Equal(t, 2, s.Steps())
}

// Coroutines that are due at the same time run in an order that the seed decides.
func TestScheduler_SeedOrdersEquals(t *testing.T) {
	first := map[int]bool{}
	for seed := range uint64(50) {
		s, p := newSimulation(t, seed)
		var order []int
		for i := range 4 {
			p.Go(func() {
				if p.Sleep(context.Background(), time.Second) == nil {
					order = append(order, i)
				}
			})
		}
		s.RunUntil(start.Add(time.Second))
		require.Len(t, order, 4)
		first[order[0]] = true
	}
	assert.Len(t, first, 4, "each comes first under some seed")
}

func TestScheduler_FloatIsTheSeeds(t *testing.T) {
	a, b, c := executor.NewScheduler(1, start), executor.NewScheduler(1, start), executor.NewScheduler(2, start)
	x := a.Float64()
	assert.Equal(t, x, b.Float64())
	assert.NotEqual(t, x, c.Float64())
	assert.True(t, x >= 0 && x < 1)
}

func TestWithDeadline_LeavesNothingBehind(t *testing.T) {
	s, p := newSimulation(t, 1)
	root := executor.NewContext(context.Background())
	ctx, cancel := p.WithDeadline(root, start.Add(time.Hour))
	s.RunUntilIdle()
	assert.Equal(t, 1, p.Running(), "it sleeps")
	assert.Equal(t, 1, s.Left(), "on a timer")
	cancel()
	s.RunUntilIdle()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.Zero(t, p.Running()+s.Left()+root.Callbacks())

	ctx, cancel = p.WithDeadline(root, start.Add(time.Hour))
	defer cancel()
	root.Cancel(context.Canceled)
	s.RunUntilIdle()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.Zero(t, p.Running()+s.Left())
}

func TestWithDeadline_ThePastHasEndedBeforeAnythingRuns(t *testing.T) {
	s, p := newSimulation(t, 1)
	ctx, cancel := p.WithDeadline(context.Background(), start)
	defer cancel()
	assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	assert.Zero(t, p.Running()+s.Left())
}

func TestWithDeadline_ReturnsTheNearerDeadline(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		near, far := seam.Now().Add(time.Second), seam.Now().Add(time.Hour)
		outer, cancel := seam.WithDeadline(context.Background(), near)
		defer cancel()
		inner, cancel := seam.WithDeadline(outer, far)
		defer cancel()
		due, ok := inner.Deadline()
		assert.True(t, ok)
		assert.True(t, near.Equal(due))
		assert.ErrorIs(t, seam.Sleep(inner, time.Minute), context.DeadlineExceeded)
		assert.True(t, near.Equal(seam.Now()))
	})
}

// Contexts that the standard library derives from a Context of this package end in the same call,
// and a coroutine that waits on one is woken without a goroutine.
func TestStandardContextsInASimulation(t *testing.T) {
	for name, parent := range map[string]func() (context.Context, func()){
		"of ours": func() (context.Context, func()) {
			c := executor.NewContext(context.Background())
			return c, func() { c.Cancel(context.Canceled) }
		},
		"alone": func() (context.Context, func()) {
			return context.WithCancel(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newSimulation(t, 1)
			root, end := parent()
			standard, cancel := context.WithCancel(root)
			defer cancel()
			onTop := executor.NewContext(standard)
			var errs []error
			for _, ctx := range []context.Context{standard, onTop, executor.NewContext(onTop)} {
				p.Go(func() { errs = append(errs, p.Sleep(ctx, time.Hour)) })
			}
			s.RunUntilIdle()
			end()
			s.RunUntilIdle()
			assert.Equal(t, []error{context.Canceled, context.Canceled, context.Canceled}, errs)
			assert.Zero(t, p.Running()+s.Left())
		})
	}
}

func TestClock(t *testing.T) {
	s, p := newSimulation(t, 1)
	clk := p.Clock()
	s.AdvanceTo(start.Add(time.Minute))
	assert.Equal(t, start.Add(time.Minute), clk.Now())
	assert.Equal(t, time.Minute, clk.Since(start))
	for name, use := range map[string]func(){
		"After":     func() { clk.After(1) },
		"Tick":      func() { clk.Tick(1) },
		"Sleep":     func() { clk.Sleep(1) },
		"NewTimer":  func() { clk.NewTimer(1) },
		"NewTicker": func() { clk.NewTicker(1) },
	} {
		assert.ErrorContains(t, panicOf(use), "nothing waits on a clock's channel", name)
	}
}
