package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	testclock "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/internal/executor"
)

// inBoth runs f in a bubble and in a simulation.
func inBoth(t *testing.T, f func(t *testing.T, seam executor.Executor)) {
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, executor.Over(nil)) })
	})
	t.Run("simulation", func(t *testing.T) {
		inSimulation(t, func(_ *executor.Scheduler, p *executor.Process) { f(t, executor.Over(p.Clock())) })
	})
}

func TestEvent_SignalsBeforeAWaitCountOnce(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		e := seam.NewEvent()
		e.Signal()
		e.Signal()
		assert.NoError(t, e.Wait(context.Background()))
		taken, err := e.WaitUntil(context.Background(), seam.Now().Add(time.Second))
		assert.False(t, taken)
		assert.NoError(t, err)
	})
}

func TestEvent_WaitUntilThePastConsumesAPendingSignal(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		e, past := seam.NewEvent(), seam.Now().Add(-time.Second)
		for _, want := range []bool{false, true, false} {
			taken, err := e.WaitUntil(context.Background(), past)
			assert.Equal(t, want, taken)
			assert.NoError(t, err)
			if !want {
				e.Signal()
			}
		}
	})
}

// Otherwise a loop that signals itself could not be stopped.
func TestEvent_AnEndedContextWinsAndLeavesTheSignal(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		ctx, cancel := executor.WithCancel(context.Background())
		cancel()
		e := seam.NewEvent()
		e.Signal()
		assert.ErrorIs(t, e.Wait(ctx), context.Canceled)
		taken, err := e.WaitUntil(ctx, seam.Now())
		assert.False(t, taken)
		assert.ErrorIs(t, err, context.Canceled)
		assert.NoError(t, e.Wait(context.Background()))
	})
}

func TestEvent_ContextEndsAWait(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		ctx, cancel := seam.WithDeadline(context.Background(), seam.Now().Add(time.Second))
		defer cancel()
		e := seam.NewEvent()
		assert.ErrorIs(t, e.Wait(ctx), context.DeadlineExceeded)
		assert.Equal(t, start.Add(time.Second), seam.Now().UTC())

		ctx, cancel = seam.WithDeadline(context.Background(), seam.Now().Add(time.Second))
		defer cancel()
		taken, err := e.WaitUntil(ctx, seam.Now().Add(time.Hour))
		assert.False(t, taken)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// The waiter was woken by time or by its context but has not run yet: a signal in between is not
// for the wait that is over.
func TestEvent_SimulationLosesNoSignalToAWaiterOnItsWay(t *testing.T) {
	for name, end := range map[string]func(s *executor.Scheduler, cancel func()){
		"time":    func(s *executor.Scheduler, _ func()) { s.AdvanceTo(start.Add(time.Second)) },
		"context": func(_ *executor.Scheduler, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newSimulation(t, 1)
			ctx, cancel := executor.WithCancel(context.Background())
			e := p.NewEvent()
			var first, second bool
			p.Go(func() {
				first, _ = e.WaitUntil(ctx, start.Add(time.Second))
				second = e.Wait(context.Background()) == nil
			})
			s.RunUntilIdle()
			end(s, cancel)
			e.Signal()
			s.RunUntilIdle()
			assert.False(t, first)
			assert.True(t, second)
			assert.Zero(t, p.Running())
		})
	}
}

func TestEvent_SimulationPanicsForASecondWaiter(t *testing.T) {
	s, p := newSimulation(t, 1)
	e := p.NewEvent()
	p.Go(func() { _ = e.Wait(context.Background()) })
	s.RunUntilIdle()
	p.Go(func() { _ = e.Wait(context.Background()) })
	assert.ErrorContains(t, panicOf(s.RunUntilIdle), "two coroutines wait for one event")
	assert.Equal(t, 1, p.Running(), "the first still waits")
}

func TestLatch_OpenAndCancelledCountsAsOpen(t *testing.T) {
	s, p := newSimulation(t, 1)
	ctx, cancel := executor.WithCancel(context.Background())
	l := p.NewLatch()
	err := context.Canceled
	p.Go(func() { err = l.Wait(ctx) })
	s.RunUntilIdle()
	cancel()
	l.Open()
	s.RunUntilIdle()
	assert.NoError(t, err)
}

func TestLatch_Wait(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		ended, cancel := executor.WithCancel(context.Background())
		cancel()
		l := seam.NewLatch()
		assert.False(t, l.Opened())
		assert.ErrorIs(t, l.Wait(ended), context.Canceled)
		l.Open()
		l.Open()
		assert.True(t, l.Opened())
		assert.NoError(t, l.Wait(ended), "an open latch stays open")
		<-l.Done()
	})
}

func TestSleep_EndedContext(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		ctx, cancel := executor.WithCancel(context.Background())
		cancel()
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			assert.ErrorIs(t, seam.Sleep(ctx, d), context.Canceled)
		}
		assert.NoError(t, seam.Sleep(context.Background(), -1))
		assert.Equal(t, start, seam.Now().UTC(), "no time has passed")
	})
}

// With a clock that is neither the real one nor a simulation's, this package implements the
// deadline.
func TestFakeClock(t *testing.T) {
	fake := testclock.NewFakeClock(start)
	seam := executor.Over(fake)
	ctx, cancel := seam.WithDeadline(context.Background(), start.Add(time.Second))
	due, ok := ctx.Deadline()
	assert.Equal(t, start.Add(time.Second), due)
	assert.True(t, ok)
	require.NoError(t, ctx.Err())
	fake.Step(time.Second)
	<-ctx.Done()
	assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	cancel()

	ctx, cancel = seam.WithDeadline(context.Background(), fake.Now())
	defer cancel()
	assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "the deadline is not after now")

	ctx, cancel = seam.WithDeadline(context.Background(), fake.Now().Add(time.Second))
	cancel()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
}
