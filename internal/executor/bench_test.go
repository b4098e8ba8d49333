package executor_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// BenchmarkStep is one step of a coroutine that yields at once.
func BenchmarkStep(b *testing.B) {
	s, p := newSimulation(b, 1)
	for range 10 {
		p.Go(func() {
			for p.Yield() == nil {
			}
		})
	}
	s.SetLimits(math.MaxInt, 1)
	b.ReportAllocs()
	for b.Loop() {
		s.Step()
	}
}

// BenchmarkSleep is a sleep in a simulation of a hundred sleepers: park, timer, and resume.
func BenchmarkSleep(b *testing.B) {
	s, p := newSimulation(b, 1)
	ctx := executor.NewContext(context.Background())
	for i := range 100 {
		p.Go(func() {
			for p.Sleep(ctx, time.Duration(i+1)*time.Millisecond) == nil {
			}
		})
	}
	s.RunUntilIdle()
	b.ReportAllocs()
	for b.Loop() {
		takeStep(s)
	}
}

// BenchmarkEvent is a signal to another coroutine and back.
func BenchmarkEvent(b *testing.B) {
	echo := func(seam executor.Executor, ctx context.Context, hear, say executor.Event) {
		for hear.Wait(ctx) == nil {
			say.Signal()
		}
	}
	b.Run("goroutines", func(b *testing.B) {
		seam := executor.Over(nil)
		ctx, cancel := executor.WithCancel(context.Background())
		ping, pong, g := seam.NewEvent(), seam.NewEvent(), executor.NewGroup(seam)
		g.Go(func() { echo(seam, ctx, ping, pong) })
		b.ReportAllocs()
		for b.Loop() {
			ping.Signal()
			_ = pong.Wait(ctx)
		}
		cancel()
		g.Wait()
	})
	b.Run("simulation", func(b *testing.B) {
		s, p := newSimulation(b, 1)
		ping, pong := p.NewEvent(), p.NewEvent()
		p.Go(func() { echo(p, context.Background(), ping, pong) })
		p.Go(func() { echo(p, context.Background(), pong, ping) })
		ping.Signal()
		s.SetLimits(math.MaxInt, 1)
		b.ReportAllocs()
		for b.Loop() {
			s.Step()
			s.Step()
		}
	})
}

// BenchmarkContext makes and cancels a context under a parent with many children, compared with the
// standard library.
func BenchmarkContext(b *testing.B) {
	parent := executor.NewContext(context.Background())
	for range 10_000 {
		executor.NewContext(parent)
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, cancel := executor.WithCancel(parent)
			cancel()
		}
	})
	b.Run("standard", func(b *testing.B) {
		parent, end := context.WithCancel(context.Background())
		defer end()
		b.ReportAllocs()
		for b.Loop() {
			_, cancel := context.WithCancel(parent)
			cancel()
		}
	})
}
