package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// An image that is not there is asked for after 10, 20, 40 ... seconds. A node that is
// next to its registry asks sooner.
func ExampleImagePull() {
	for _, rule := range []backoff.ImagePull{{}, {Initial: time.Second, Max: 5 * time.Second}} {
		var state backoff.State
		now := start
		var delays []time.Duration
		for range 4 {
			state = rule.Failed(state, now)
			delays = append(delays, state.Delay)
			now = now.Add(rule.Remaining(state, now))
		}
		fmt.Println(delays)
	}
	// Output:
	// [10s 20s 40s 1m20s]
	// [1s 2s 4s 5s]
}

func TestImagePull_FromTheLastFailure(t *testing.T) {
	var rule backoff.ImagePull
	var state backoff.State
	now := start
	assert.Zero(t, rule.Remaining(state, now), "the first pull does not wait")
	for _, want := range []float64{10, 20, 40, 80, 160, 300, 300} {
		state = rule.Failed(state, now)
		assert.Equal(t, seconds(want), rule.Remaining(state, now))
		now = now.Add(rule.Remaining(state, now))
		assert.Zero(t, rule.Remaining(state, now))
	}
	now = now.Add(seconds(601))
	assert.Equal(t, seconds(10), rule.Remaining(rule.Failed(state, now), now), "begins again")
}

// TestImagePull_NegativeIsDefault: each field by itself.
func TestImagePull_NegativeIsDefault(t *testing.T) {
	rule := backoff.ImagePull{Initial: -1, Max: -1, Reset: -1}
	state := rule.Failed(backoff.State{}, start)
	assert.Equal(t, seconds(10), state.Delay)
	assert.Equal(t, seconds(20), rule.Failed(state, start.Add(seconds(600))).Delay, "600 s are not yet more than 600 s")
	assert.Equal(t, seconds(10), rule.Failed(state, start.Add(seconds(601))).Delay)
	state.Delay = seconds(300)
	assert.Equal(t, seconds(300), rule.Failed(state, start).Delay)
}
