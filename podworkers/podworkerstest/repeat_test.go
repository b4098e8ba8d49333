package podworkerstest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
)

// The same content told three times needs up to three calls: the second call was
// settled before the third telling, and shows the same version.
func TestRules_I17_AnUpdateThatChangesNothingIsNewsToo(t *testing.T) {
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

// Every way to tell the same thing up to four times, with up to five steps after
// each, is one that the workers get right.
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

// What is owed excuses one call and no more.
func TestRules_I17_IsNoticedAfterRepeatedUpdates(t *testing.T) {
	call := []Event{beginTimes(lifecycle.SyncPod), ended(lifecycle.SyncPod, nil)}
	events := []Event{created, created}
	events = after(events, call...) // The first may have been told when the second came.
	require.NoError(t, Rules{}.Check(events))
	events = after(events, call...) // It was.
	require.NoError(t, Rules{}.Check(events))
	events = after(events, call...)
	require.ErrorContains(t, Rules{}.Check(events), "I17: line 6:")

	while := []Event{created, beginTimes(lifecycle.SyncPod), created, ended(lifecycle.SyncPod, nil)}
	while = after(while, call...) // It has what was told during the one before.
	require.NoError(t, Rules{}.Check(while))
	while = after(while, call...)
	assert.ErrorContains(t, Rules{}.Check(while), "I17: line 6:")
}
