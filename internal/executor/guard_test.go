package executor_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

// newGuardedScheduler returns a scheduler with a guard. stalled is the stack that the guard reported.
func newGuardedScheduler() (s *executor.Scheduler, stalled *string) {
	s, stalled = executor.NewScheduler(1, time.Unix(0, 0)), new(string)
	s.Guard(30*time.Millisecond, func(stack string) {
		*stalled = stack
		runtime.Goexit()
	})
	return s, stalled
}

// inGoroutine runs f, and reports whether it has returned.
func inGoroutine(f func()) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		returned = true
	}()
	<-done
	return returned
}

func TestGuard_ReportsTheBlockedStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, drive := range map[string]func(*executor.Scheduler){
			"Step":         func(s *executor.Scheduler) { s.Step() },
			"RunUntilIdle": (*executor.Scheduler).RunUntilIdle,
			"RunUntil":     func(s *executor.Scheduler) { s.RunUntil(s.Now().Add(time.Hour)) },
			"RunWhile":     func(s *executor.Scheduler) { _ = s.RunWhile(s.Now().Add(time.Hour), func() bool { return true }) },
		} {
			s, stalled := newGuardedScheduler()
			never := make(chan struct{})
			s.NewProcess().Go(func() { <-never })
			assert.False(t, inGoroutine(func() { drive(s) }), name)
			assert.Contains(t, *stalled, "TestGuard_ReportsTheBlockedStack", name)
			assert.True(t, s.Stalled(), name)
			assert.False(t, inGoroutine(func() { drive(s) }), "%s: nothing goes on", name)
			close(never)
			s.Resume()
			assert.True(t, inGoroutine(s.RunUntilIdle), name)
		}
	})
}

// A long run of many steps is not a stall.
func TestGuard_LongRunWithStepsIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stalled := newGuardedScheduler()
		p := s.NewProcess()
		p.Go(func() {
			for range 20 {
				time.Sleep(20 * time.Millisecond) // A slow step.
				_ = p.Sleep(context.Background(), time.Second)
			}
		})
		assert.True(t, inGoroutine(func() { s.RunUntil(s.Now().Add(time.Minute)) }), *stalled)
	})
}

// A step that blocks in the middle of a long run is detected as soon.
func TestGuard_AStallThatBeginsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stalled := newGuardedScheduler()
		p := s.NewProcess()
		p.Go(func() {
			time.Sleep(20 * time.Millisecond)
			_ = p.Sleep(context.Background(), time.Second)
			time.Sleep(35 * time.Millisecond) // More than the limit.
		})
		assert.False(t, inGoroutine(func() { s.RunUntil(s.Now().Add(time.Minute)) }))
		assert.Contains(t, *stalled, "TestGuard_AStallThatBeginsLate")
		time.Sleep(time.Second)
		s.Resume()
	})
}

func TestGuard_PassesOnPanicsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newGuardedScheduler()
		p := s.NewProcess()
		p.Go(func() { panic("boom") })
		assert.ErrorContains(t, panicOf(s.RunUntilIdle), "boom")
		p.Go(func() { runtime.Goexit() })
		assert.False(t, inGoroutine(s.RunUntilIdle))
		ran := false
		p.Go(func() { ran = true })
		s.RunUntilIdle()
		assert.True(t, ran, "the scheduler goes on")
	})
}

func TestRunWhile_StopsAtTheLimit(t *testing.T) {
	s := executor.NewScheduler(1, time.Unix(0, 0))
	p := s.NewProcess()
	n := 0
	p.Go(func() {
		for p.Sleep(context.Background(), time.Minute) == nil {
			n++
		}
	})
	require.NoError(t, s.RunWhile(s.Now().Add(time.Hour), func() bool { return n < 3 }))
	assert.Equal(t, 3*time.Minute, s.Now().Sub(time.Unix(0, 0)))
	err := s.RunWhile(s.Now().Add(90*time.Second), func() bool { return true })
	require.ErrorContains(t, err, "what is waited for has not happened")
	assert.Equal(t, 4*time.Minute+30*time.Second, s.Now().Sub(time.Unix(0, 0)))
	p.Crash()
	err = s.RunWhile(s.Now().Add(time.Hour), func() bool { return true })
	require.EqualError(t, err, "executor: no coroutine is ready and no timer is set, so nothing can end the wait")
}

// newWaitingScheduler returns a scheduler whose driver may wait.
func newWaitingScheduler() (s *executor.Scheduler, p *executor.Process, reason *error) {
	s, reason = executor.NewScheduler(1, time.Unix(0, 0)), new(error)
	s.LetDriverWait(func(err error) { *reason = err })
	return s, s.NewProcess(), reason
}

func TestDriver_SleepsInVirtualTime(t *testing.T) {
	s, p, _ := newWaitingScheduler()
	ticks := 0
	p.Go(func() {
		for p.Sleep(context.Background(), time.Second) == nil {
			ticks++
		}
	})
	require.NoError(t, p.Sleep(context.Background(), time.Minute))
	assert.Equal(t, time.Minute, s.Now().Sub(time.Unix(0, 0)))
	assert.InDelta(t, 60, ticks, 1)
	ctx, cancel := p.WithDeadline(context.Background(), s.Now().Add(time.Second))
	defer cancel()
	require.ErrorIs(t, p.Sleep(ctx, time.Hour), context.DeadlineExceeded)
	assert.Equal(t, time.Minute+time.Second, s.Now().Sub(time.Unix(0, 0)))
	p.Crash()
	require.ErrorIs(t, p.Sleep(context.Background(), time.Hour), executor.ErrCrashed)
}

func TestDriver_WaitsForEventsAndLatches(t *testing.T) {
	s, p, reason := newWaitingScheduler()
	event, latch := p.NewEvent(), p.NewLatch()
	p.Go(func() {
		_ = p.Sleep(context.Background(), time.Second)
		event.Signal()
		_ = p.Sleep(context.Background(), time.Second)
		latch.Open()
	})
	require.NoError(t, event.Wait(context.Background()))
	assert.Equal(t, time.Second, s.Now().Sub(time.Unix(0, 0)))
	require.NoError(t, latch.Wait(context.Background()))
	assert.Equal(t, 2*time.Second, s.Now().Sub(time.Unix(0, 0)))
	taken, err := event.WaitUntil(context.Background(), s.Now().Add(time.Second))
	require.NoError(t, err)
	assert.False(t, taken, "the signal was taken")
	assert.Equal(t, 3*time.Second, s.Now().Sub(time.Unix(0, 0)))
	event.Signal()
	taken, err = event.WaitUntil(context.Background(), s.Now())
	require.NoError(t, err)
	assert.True(t, taken)
	require.NoError(t, *reason)

	require.ErrorContains(t, event.Wait(context.Background()), "no coroutine is ready and no timer is set")
	require.ErrorContains(t, *reason, "no coroutine is ready and no timer is set")
	p.Go(func() {
		for p.Sleep(context.Background(), time.Minute) == nil {
		}
	})
	require.ErrorContains(t, event.Wait(context.Background()), "what is waited for has not happened")
	assert.Equal(t, 24*time.Hour, s.Now().Sub(time.Unix(0, 0)), "a day is enough, for all waits together")
	ctx, cancel := executor.WithCancel(context.Background())
	p.Go(cancel)
	require.ErrorIs(t, event.Wait(ctx), context.Canceled)
	p.Crash()
}

func TestFrom_FindsWhatIntoHasPutThere(t *testing.T) {
	s := executor.NewScheduler(1, time.Unix(0, 0))
	p := s.NewProcess()
	ctx, cancel := executor.WithCancel(executor.Into(context.Background(), p))
	defer cancel()
	assert.Equal(t, executor.Executor(p), executor.From(executor.Detach(ctx)))
	assert.Equal(t, executor.Over(nil), executor.From(context.Background()))
	assert.NoError(t, ctx.Err())
}
