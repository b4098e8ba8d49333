package backoff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

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
