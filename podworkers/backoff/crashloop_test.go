package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestCrashLoop_RS11_DelaysBeforeEachRestart(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule backoff.CrashLoop
		want []float64
	}{
		{"default", backoff.CrashLoop{}, []float64{0, 10, 20, 40, 80, 160, 300, 300}},
		{"reduced decay", backoff.CrashLoop{Initial: seconds(1), Max: seconds(60)}, []float64{0, 1, 2, 4, 8, 16, 32, 60, 60}},
		{"node max", backoff.CrashLoop{Max: seconds(25)}, []float64{0, 10, 20, 25, 25}},
		{"node max below the initial", backoff.CrashLoop{Max: seconds(3)}, []float64{0, 3, 3}},
		{"node max with reduced decay", backoff.CrashLoop{Initial: seconds(1), Max: seconds(3)}, []float64{0, 1, 2, 3, 3}},
		{"negative is default", backoff.CrashLoop{Initial: -1, Max: -1, Reset: -1}, []float64{0, 10, 20}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var state backoff.State
			now := start
			for i, want := range tc.want {
				wait := tc.rule.Remaining(state, now, now)
				assert.Equal(t, seconds(want), wait, "restart %d", i+1)
				now = now.Add(wait)
				state = tc.rule.Next(state, now)
			}
		})
	}
}

func TestCrashLoop_RS10_CountsFromFinishedAt(t *testing.T) {
	var rule backoff.CrashLoop
	state := backoff.State{Delay: seconds(40), LastStart: start}
	finished := start.Add(seconds(100)) // ran 100 s

	at := func(s float64) time.Time { return finished.Add(seconds(s)) }
	assert.Equal(t, seconds(40), rule.Remaining(state, finished, at(0)))
	assert.Equal(t, seconds(15), rule.Remaining(state, finished, at(25)))
	assert.Equal(t, time.Duration(1), rule.Remaining(state, finished, at(40).Add(-1)))
	assert.Zero(t, rule.Remaining(state, finished, at(40)), "strict: over exactly at its end")
	assert.Equal(t, seconds(40), rule.Remaining(state, at(30), at(0)), "a record from the future counts as one of now")
}

func TestCrashLoop_ResetAfterTenMinutes(t *testing.T) {
	var rule backoff.CrashLoop
	state := backoff.State{Delay: seconds(300), LastStart: start}
	at := func(s float64) time.Time { return start.Add(seconds(s)) }

	assert.Equal(t, seconds(1)+1, rule.Remaining(state, at(599), at(599)), "not over yet, but soon")
	assert.Equal(t, time.Duration(1), rule.Remaining(state, at(600), at(600)), "exactly 600 s is not yet more than 600 s")
	assert.Zero(t, rule.Remaining(state, at(600), at(600).Add(1)))
	assert.Zero(t, rule.Remaining(state, at(601), at(601)), "ran longer than 600 s")

	assert.Equal(t, backoff.State{Delay: seconds(10), LastStart: at(601)}, rule.Next(state, at(601)), "begins again")
	assert.Equal(t, backoff.State{Delay: seconds(300), LastStart: at(600)}, rule.Next(state, at(600)), "goes on")

	small := backoff.CrashLoop{Max: seconds(20)}
	state.Delay = seconds(20)
	assert.Equal(t, seconds(20), small.Remaining(state, at(300), at(300)), "whatever the maximum is")
}

func TestCrashLoop_I31_WaitNeverExceedsTheDelayNorIsNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(-int64(time.Hour), int64(time.Hour))
		rule := backoff.CrashLoop{
			Initial: time.Duration(span.Draw(t, "initial")),
			Max:     time.Duration(span.Draw(t, "max")),
			Reset:   time.Duration(span.Draw(t, "reset")),
		}
		var state backoff.State
		now := start
		for range rapid.IntRange(1, 12).Draw(t, "attempts") {
			previous := state.Delay
			finished := now.Add(time.Duration(span.Draw(t, "finished")))
			wait := rule.Remaining(state, finished, now)
			if wait < 0 || wait > state.Delay {
				t.Fatalf("waits %v with a delay of %v", wait, state.Delay)
			}
			known := !finished.After(now)
			now = now.Add(wait)
			if left := rule.Remaining(state, finished, now); known && left != 0 {
				t.Fatalf("%v left after the wait", left)
			}
			state = rule.Next(state, now)
			if state.Delay <= 0 || previous > 0 && state.Delay > 2*previous && state.Delay > rule.Next(backoff.State{}, now).Delay {
				t.Fatalf("delay went from %v to %v", previous, state.Delay)
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "run")))
		}
	})
}

func TestCrashLoop_HugeNumbersDoNotComeRound(t *testing.T) {
	rule := backoff.CrashLoop{Initial: math.MaxInt64 - 1, Max: math.MaxInt64, Reset: math.MaxInt64}
	state := rule.Next(rule.Next(backoff.State{}, start), start)
	assert.Equal(t, time.Duration(math.MaxInt64), state.Delay)
	assert.Positive(t, rule.Remaining(state, start, start.Add(time.Hour)))
}
