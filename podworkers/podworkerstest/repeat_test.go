package podworkerstest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
)

// Three updates with the same content need up to three calls: the content of the second call was
// fixed before the third update, and has the same version.
func TestRules_I17_UpdateWithoutChangeAllowsACall(t *testing.T) {
	for seed := range uint64(50) {
		s := NewStepper(Config{T: t, Seed: seed})
		pod := Pod("a", Version(1))
		s.Update(pod)
		s.Step()
		s.Step()
		s.Update(pod)
		s.Step()
		s.Update(pod)
		s.RunUntilIdle()
		require.NoError(t, Rules{}.Check(s.Trace.Events()), "seed %d", seed)
	}
}

// The workers keep the rules for up to four updates with the same content and up to five steps
// after each.
func TestRules_HoldForEveryWayToRepeatAnUpdate(t *testing.T) {
	for way := range 6 * 6 * 6 * 6 {
		s := NewStepper(Config{Seed: uint64(way)})
		for rest := way; rest > 0; rest /= 6 {
			s.Update(Pod("a", Version(1)))
			for range rest % 6 {
				s.Step()
			}
		}
		s.Advance(3 * time.Minute)
		require.NoError(t, Rules{Until: 3 * time.Minute}.Check(s.Trace.Events()), "way %d\n%s", way, s.Transcript())
		s.Close()
	}
}

// An update that may have been too late allows one more call, and no second one.
func TestRules_I17_DetectedAfterRepeatedUpdates(t *testing.T) {
	call := []Event{beginTimes(lifecycle.SyncPod), ended(lifecycle.SyncPod, nil)}
	events := []Event{created, created}
	events = after(events, call...) // The first update may have arrived after the call's content was fixed.
	require.NoError(t, Rules{}.Check(events))
	events = after(events, call...) // It has.
	require.NoError(t, Rules{}.Check(events))
	events = after(events, call...)
	require.ErrorContains(t, Rules{}.Check(events), "I17: line 6:")

	while := []Event{created, beginTimes(lifecycle.SyncPod), created, ended(lifecycle.SyncPod, nil)}
	while = after(while, call...) // It has the update from during the call before.
	require.NoError(t, Rules{}.Check(while))
	while = after(while, call...)
	assert.ErrorContains(t, Rules{}.Check(while), "I17: line 6:")
}
