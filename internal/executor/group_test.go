package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
)

func TestGroup_CanBeWaitedForTwiceAndUsedAgain(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		g, done, waiters := executor.NewGroup(seam), seam.NewLatch(), executor.NewGroup(seam)
		g.Wait() // Nothing runs.
		for round := range 2 {
			from := seam.Now()
			g.Go(func() { _ = seam.Sleep(context.Background(), time.Second) })
			for range 2 {
				waiters.Go(func() {
					g.Wait()
					assert.Equal(t, time.Second, seam.Now().Sub(from), "round %d", round)
				})
			}
			waiters.Wait()
		}
		done.Open()
		assert.NoError(t, done.Wait(context.Background()))
	})
}

// A member that does not return is left behind, and can be waited for again.
func TestGroup_WaitUntil(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		g, from := executor.NewGroup(seam), seam.Now()
		in := func(d time.Duration) time.Time { return from.Add(d) }
		assert.True(t, g.WaitUntil(in(time.Hour)), "nothing runs")
		assert.True(t, g.WaitUntil(in(-time.Hour)), "nothing runs")
		g.Go(func() { _ = seam.Sleep(context.Background(), 3*time.Second) })
		assert.False(t, g.WaitUntil(in(-time.Hour)))
		assert.Equal(t, from, seam.Now())
		assert.False(t, g.WaitUntil(in(time.Second)))
		assert.Equal(t, in(time.Second), seam.Now())
		assert.True(t, g.WaitUntil(in(time.Hour)))
		assert.Equal(t, in(3*time.Second), seam.Now())
		g.Wait()
	})
}

func TestEach_CallsEachOnceWithinTheLimit(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		for _, c := range []struct{ limit, n, most int }{
			{0, 5, 5}, {-1, 5, 5}, {1, 5, 1}, {2, 5, 2}, {9, 5, 5}, {3, 1, 1}, {3, 0, 0}, {0, 0, 0},
		} {
			var mu sync.Mutex
			var busy, most int
			calls := make([]int, c.n)
			executor.Each(seam, c.limit, c.n, func(i int) {
				mu.Lock()
				calls[i]++
				busy++
				most = max(most, busy)
				mu.Unlock()
				_ = seam.Sleep(context.Background(), time.Millisecond)
				mu.Lock()
				busy--
				mu.Unlock()
			})
			assert.Zero(t, busy, "all have returned")
			assert.Equal(t, c.most, most, "limit %d of %d", c.limit, c.n)
			for i := range calls {
				assert.Equal(t, 1, calls[i])
			}
		}
	})
}

func TestEach_APanicIsRaisedInTheCallerOnceTheOthersAreDone(t *testing.T) {
	inBoth(t, func(t *testing.T, seam executor.Executor) {
		for _, limit := range []int{0, 1, 2} {
			cause, calls := errors.New("boom"), make([]bool, 4)
			err := panicOf(func() {
				executor.Each(seam, limit, len(calls), func(i int) {
					calls[i] = true
					if i%2 == 1 {
						panic(cause)
					}
					_ = seam.Sleep(context.Background(), time.Second)
				})
			})
			assert.ErrorIs(t, err, cause)
			var panicked *executor.Panicked
			require.ErrorAs(t, err, &panicked)
			assert.Contains(t, string(panicked.Stack), "TestEach_APanic", "the stack is the call's")
			assert.Equal(t, []bool{true, true, true, true}, calls, "limit %d", limit)
		}
	})
}

func TestPanicked_ErrorHasValueAndStack(t *testing.T) {
	p := &executor.Panicked{Value: "boom", Stack: []byte("goroutine 1")}
	assert.Equal(t, "boom\n\ngoroutine 1", p.Error())
	assert.NoError(t, errors.Unwrap(p))
}

func ExampleEach() {
	squares := make([]int, 5)
	executor.Each(executor.Over(nil), 2, len(squares), func(i int) { squares[i] = i * i })
	fmt.Println(squares)
	// Output: [0 1 4 9 16]
}

func ExampleNewGroup() {
	seam := executor.Over(nil)
	said := make([]string, 2)
	g := executor.NewGroup(seam)
	g.Go(func() { said[0] = "port" })
	g.Go(func() { said[1] = "starboard" })
	g.Wait()
	fmt.Println(said)
	// Output: [port starboard]
}
