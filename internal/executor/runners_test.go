package executor_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/executor"
)

// TestRunners_NoLimit: functions that wait for each other all run, though more of them are
// started than Runners parks, and though one goroutine started them all before the first ran.
func TestRunners_NoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := executor.NewRunners(executor.Over(nil))
		defer r.Close()
		const n = 1000
		for range 3 { // The second and third time some goroutines are parked.
			var all, ended sync.WaitGroup
			all.Add(n)
			for range n {
				ended.Add(1)
				r.Go(func() {
					defer ended.Done()
					all.Done()
					all.Wait()
				})
			}
			ended.Wait()
		}
	})
}

// TestRunners_Parked: after a burst a few goroutines are parked. They run the next functions,
// in the order of the calls if each ends before the next, and end when they are not used.
func TestRunners_Parked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := executor.NewRunners(executor.Over(nil))
		defer r.Close()
		most := 4 * runtime.GOMAXPROCS(0)
		burst := func() {
			var all sync.WaitGroup
			all.Add(most * 3)
			for range most * 3 {
				r.Go(func() { all.Done(); all.Wait() })
			}
			synctest.Wait()
		}
		burst()
		assert.Equal(t, most, r.Parked())

		var said []string
		for i := range 5 {
			r.Go(func() { said = append(said, fmt.Sprint(i)) })
			synctest.Wait()
		}
		assert.Equal(t, "0 1 2 3 4", strings.Join(said, " "))
		assert.Equal(t, most, r.Parked(), "a parked goroutine has run them")

		time.Sleep(900 * time.Millisecond)
		r.Go(func() {})
		synctest.Wait()
		assert.Equal(t, most, r.Parked())
		time.Sleep(1100 * time.Millisecond) // Two periods have begun, and one goroutine was used in the second.
		synctest.Wait()
		assert.Less(t, r.Parked(), most, "those that nothing has used")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Zero(t, r.Parked())

		burst()
		assert.Equal(t, most, r.Parked(), "as the first time")
	})
}

// TestRunners_Used: a goroutine that runs a function when a period ends is not ended, and is parked
// afterwards.
func TestRunners_Used(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := executor.NewRunners(executor.Over(nil))
		defer r.Close()
		r.Go(func() {})
		synctest.Wait()
		time.Sleep(1100 * time.Millisecond)
		assert.Equal(t, 1, r.Parked(), "the second period has begun")
		r.Go(func() { time.Sleep(1500 * time.Millisecond) })
		synctest.Wait()
		assert.Zero(t, r.Parked())
		time.Sleep(1600 * time.Millisecond)
		assert.Equal(t, 1, r.Parked(), "used while a period ended")
	})
}

// TestRunners_Close: Close ends the parked goroutines. A running function continues, and its
// goroutine is not parked. A later function still runs. The bubble fails if a goroutine is left.
func TestRunners_Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := executor.NewRunners(executor.Over(nil))
		r.Go(func() {})
		synctest.Wait()
		assert.Equal(t, 1, r.Parked())
		goOn, ran := make(chan struct{}), false
		r.Go(func() { <-goOn })
		r.Go(func() {})
		r.Close()
		synctest.Wait()
		assert.Zero(t, r.Parked())
		close(goOn)
		r.Go(func() { ran = true })
		synctest.Wait()
		assert.True(t, ran)
		assert.Zero(t, r.Parked())
	})
}

// TestRunners_CloseBesideTheTimer: the timer that has fired when Close stops it finds nothing to end.
func TestRunners_CloseBesideTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := executor.NewRunners(executor.Over(nil))
		r.Go(func() {})
		synctest.Wait()
		executor.EndUnused(r) // The goroutine counts as unused from now on.
		r.Close()
		executor.EndUnused(r)
	})
}

// TestRunners_Simulated: in a simulation nothing is parked, and the order is the seed's.
func TestRunners_Simulated(t *testing.T) {
	order := func(seed uint64, goIn func(p *executor.Process) func(func())) string {
		s, p := newSimulation(t, seed)
		var said []string
		run := goIn(p)
		for i := range 8 {
			run(func() {
				_ = p.Sleep(context.Background(), time.Second)
				said = append(said, fmt.Sprint(i))
			})
		}
		s.RunUntil(start.Add(time.Minute))
		return strings.Join(said, " ")
	}
	for seed := range uint64(20) {
		plain := order(seed, func(p *executor.Process) func(func()) { return p.Go })
		over := order(seed, func(p *executor.Process) func(func()) { return executor.NewRunners(p).Go })
		assert.Equal(t, plain, over, "seed %d", seed)
	}
}

// TestRunners_PendingMemory: the memory of a queue that never gets empty follows its length.
func TestRunners_PendingMemory(t *testing.T) {
	length, room := executor.PendingRoom(100_000)
	assert.Equal(t, 10, length)
	assert.LessOrEqual(t, room, 64)
}
