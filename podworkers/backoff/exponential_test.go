package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

func TestExponential_NoField(t *testing.T) {
	var rule backoff.Exponential
	state := rule.Failed(backoff.State{}, start)
	assert.Equal(t, backoff.State{LastStart: start}, state)
	assert.Zero(t, rule.Remaining(state, start))
}

// TestExponential_ClockGoesBack: if the clock is set back the wait is not longer than the delay.
func TestExponential_ClockGoesBack(t *testing.T) {
	rule := backoff.Exponential{Initial: time.Second, Max: time.Minute, Reset: math.MaxInt64}
	state := rule.Failed(backoff.State{}, start)
	for _, back := range []time.Duration{1, time.Hour, math.MaxInt64} {
		assert.Equal(t, time.Second, rule.Remaining(state, start.Add(-back)))
	}
	state.LastStart = time.Unix(1<<55, 0)
	assert.Equal(t, time.Second, rule.Remaining(state, start), "further than a Duration can say")
}

// TestExponential_ResetEndsTheDelay: a delay that is longer than Reset ends after Reset.
func TestExponential_ResetEndsTheDelay(t *testing.T) {
	rule := backoff.Exponential{Initial: time.Minute, Max: time.Minute, Reset: 10 * time.Second}
	state := rule.Failed(backoff.State{}, start)
	assert.Equal(t, 10*time.Second+1, rule.Remaining(state, start))
	assert.Equal(t, time.Duration(1), rule.Remaining(state, start.Add(10*time.Second)))
	assert.Zero(t, rule.Remaining(state, start.Add(10*time.Second+1)))
}
