package executor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

// panicOf returns the value with which f panics, as an error, or nil.
func panicOf(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			err = v
		case string:
			err = errors.New(v)
		}
	}()
	f()
	return nil
}

func TestCrash_EndsEveryWait(t *testing.T) {
	s, p := newSimulation(t, 1)
	errs := map[string]error{}
	wait := func(name string, f func() error) { p.Go(func() { errs[name] = f() }) }
	ctx := executor.NewContext(context.Background())
	event, latch, opened := p.NewEvent(), p.NewLatch(), p.NewLatch()
	opened.Open()
	wait("sleep", func() error { return p.Sleep(ctx, time.Hour) })
	wait("event", func() error { return event.Wait(ctx) })
	wait("latch", func() error { return latch.Wait(ctx) })
	var again []error
	wait("again", func() error {
		err := p.Sleep(ctx, time.Hour)
		event.Signal()
		again = []error{event.Wait(ctx), latch.Wait(ctx), opened.Wait(ctx), p.Sleep(ctx, 0), p.Yield()}
		p.Go(func() { t.Error("a crashed process has forked") })
		executor.NewGroup(p).Go(func() { t.Error("a crashed process has forked") })
		return err
	})
	s.RunUntilIdle()
	p.Go(func() { t.Error("born, but never had a step") })
	p.Crash()
	p.Crash()
	for _, name := range []string{"sleep", "event", "latch", "again"} {
		assert.ErrorIs(t, errs[name], executor.ErrCrashed, name)
	}
	require.Len(t, again, 5)
	for _, err := range again {
		assert.ErrorIs(t, err, executor.ErrCrashed)
	}
	assert.Zero(t, p.Running()+s.Left()+ctx.Callbacks())
	assert.ErrorIs(t, p.Yield(), executor.ErrCrashed, "the driver gets the error too")
	assert.ErrorIs(t, p.Sleep(ctx, 1), executor.ErrCrashed)
}

// A coroutine that waits for others is older than they are, so they end before it.
func TestCrash_UnwindsTheYoungestFirst(t *testing.T) {
	s, p := newSimulation(t, 1)
	var order []string
	p.Go(func() {
		executor.Each(p, 0, 3, func(i int) {
			_ = p.Sleep(context.Background(), time.Duration(i+1)*time.Second)
			order = append(order, "call")
		})
		order = append(order, "caller")
	})
	s.RunUntilIdle()
	p.Crash()
	assert.Equal(t, []string{"call", "call", "call", "caller"}, order)
}

// A fake may crash its caller in the middle of a call: the caller's own waits fail from there on,
// and the other coroutines have ended before the next step.
func TestCrash_FromWithin(t *testing.T) {
	s, p := newSimulation(t, 1)
	var inside, other error
	p.Go(func() { other = p.Sleep(context.Background(), time.Hour) })
	s.RunUntilIdle()
	p.Go(func() {
		p.Crash()
		assert.Equal(t, 2, p.Running())
		inside = p.Sleep(context.Background(), 0)
	})
	require.True(t, s.Step())
	assert.ErrorIs(t, inside, executor.ErrCrashed)
	assert.ErrorIs(t, other, executor.ErrCrashed)
	assert.Zero(t, p.Running()+s.Left())
}

func TestCrash_OfACallerByAnotherProcess(t *testing.T) {
	s, agent := newSimulation(t, 1)
	harness := s.NewProcess()
	t.Cleanup(harness.Crash)
	var err error
	agent.Go(func() { err = harness.Sleep(context.Background(), time.Hour) }) // A slow call to the outside.
	s.RunUntilIdle()
	harness.Go(func() {
		agent.Crash()
		_ = harness.Sleep(context.Background(), time.Second)
	})
	s.RunUntilIdle()
	assert.ErrorIs(t, err, executor.ErrCrashed)
	assert.Zero(t, agent.Running())
	assert.Equal(t, 1, harness.Running(), "the world goes on")
}

func TestCrash_OfAnotherProcessIsNoticedWhenTheWaitEnds(t *testing.T) {
	s, agent := newSimulation(t, 1)
	harness := s.NewProcess()
	var err error
	agent.Go(func() { err = harness.Sleep(context.Background(), time.Second) })
	s.RunUntilIdle()
	harness.Crash()
	assert.Equal(t, 1, agent.Running())
	s.RunUntil(start.Add(time.Second))
	assert.ErrorIs(t, err, executor.ErrCrashed)
}

func TestCrash_APanicOnTheWayOutReachesTheDriver(t *testing.T) {
	s, p := newSimulation(t, 1)
	unwound := 0
	for i := range 3 {
		p.Go(func() {
			_ = p.Sleep(context.Background(), time.Hour)
			if unwound++; i == 1 {
				panic("on the way out")
			}
		})
	}
	s.RunUntilIdle()
	assert.ErrorContains(t, panicOf(p.Crash), "on the way out")
	assert.Equal(t, 3, unwound)
	assert.Zero(t, p.Running()+s.Left())
}

func TestPanic_ReachesTheDriverAndTheSimulationGoesOn(t *testing.T) {
	s, p := newSimulation(t, 1)
	cause := errors.New("boom")
	p.Go(func() { panic(cause) })
	err := panicOf(s.RunUntilIdle)
	assert.ErrorIs(t, err, cause)
	var panicked *executor.Panicked
	require.ErrorAs(t, err, &panicked)
	assert.Contains(t, string(panicked.Stack), "TestPanic_ReachesTheDriver", "the stack is the coroutine's")
	assert.Zero(t, p.Running())
	done := false
	p.Go(func() { done = true })
	s.RunUntilIdle()
	assert.True(t, done)
}

// FailNow inside a coroutine ends the driver's goroutine, without a leak.
func TestGoexit_EndsTheDriver(t *testing.T) {
	s, p := newSimulation(t, 1)
	t.Run("inner", func(t *testing.T) {
		p.Go(func() { t.SkipNow() })
		s.RunUntilIdle()
		panic("not reached")
	})
	assert.Zero(t, p.Running()+s.Left())
}

func TestDriver_MustNotWait(t *testing.T) {
	_, p := newSimulation(t, 1)
	for name, wait := range map[string]func(){
		"sleep": func() { _ = p.Sleep(context.Background(), 0) },
		"event": func() { _ = p.NewEvent().Wait(context.Background()) },
		"latch": func() { _ = p.NewLatch().Wait(context.Background()) },
	} {
		assert.ErrorContains(t, panicOf(wait), "the driver of a simulation waits", name)
	}
	assert.NoError(t, p.Yield(), "but it may pass a point where a coroutine would yield")
}

func TestGuard_ALoopThatNeverWaitsForTime(t *testing.T) {
	s, p := newSimulation(t, 1)
	s.SetLimits(100, 100)
	p.Go(func() {
		for range 150 { // Time passes, so this is no livelock.
			_ = p.Sleep(context.Background(), time.Second)
		}
		for p.Yield() == nil {
		}
	})
	assert.ErrorContains(t, panicOf(func() { s.RunUntil(start.Add(time.Hour)) }), "the program never waits")
	assert.Equal(t, start.Add(150*time.Second), s.Now())
}

func TestGuard_ALoopThatIgnoresItsError(t *testing.T) {
	s, p := newSimulation(t, 1)
	s.SetLimits(100, 100)
	ended := executor.NewContext(context.Background())
	ended.Cancel(context.Canceled)
	p.Go(func() {
		for {
			_ = p.NewEvent().Wait(ended)
		}
	})
	assert.ErrorContains(t, panicOf(s.RunUntilIdle), "ignores the error of its wait: context canceled")

	p.Go(func() {
		_ = p.Sleep(context.Background(), time.Hour)
		for {
			_ = p.Sleep(context.Background(), time.Hour)
		}
	})
	s.RunUntilIdle()
	assert.ErrorContains(t, panicOf(p.Crash), "ignores the error of its wait: executor: the process has crashed")
	assert.Zero(t, p.Running())
}
