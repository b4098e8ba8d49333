package pleg

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// I48: a clock that is set back or jumps ahead does not stop the listings, and does not cause more
// than one.
func TestRhythm_I48_ClockJumps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r listSchedule
	list := func() bool { due, _ := r.beginListIfDue(now, time.Second, 30*time.Second); return due }
	assert.True(t, list(), "the first is due at once")
	assert.False(t, list(), "one at a time")
	r.recordSuccess(now, now, 1)

	now = now.Add(-time.Hour)
	due, at := r.beginListIfDue(now, time.Second, 30*time.Second)
	assert.False(t, due)
	assert.Equal(t, now.Add(time.Second), at, "not in an hour and a second")
	now = now.Add(24 * time.Hour)
	assert.True(t, list())
	r.recordSuccess(now, now, 2)
	assert.False(t, list(), "a day that was skipped is one listing")
}

// I48: the same for the retry of a failed inspection.
func TestDue_I48_RetryAfterTheClockWasSetBack(t *testing.T) {
	p, err := New(Config{Runtime: none{}})
	require.NoError(t, err)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	_, _ = p.beginDueListAndRetries(now) // This listing does not end, so that only the retry counts.
	p.mu.table.scheduleRetry(p.mu.table.ensureRecord("a"), now)
	back := now.Add(-time.Hour)
	_, until := p.beginDueListAndRetries(back)
	assert.Equal(t, back.Add(time.Second), until, "not in an hour and a second")
	_, _ = p.beginDueListAndRetries(back.Add(time.Second))
	assert.Len(t, p.mu.table.queue, 1)
}

// B-174: health depends on the age of the last success, measured from its begin (B-190).
func TestRhythm_B174_Healthy(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r listSchedule
	r.recordListBegin(now)
	r.recordSuccess(now, now.Add(time.Minute), 1) // It took a minute (B-173).
	ok, err := r.checkLastListing(now.Add(3*time.Minute), 3*time.Minute)
	assert.True(t, ok, "%v", err)
	ok, err = r.checkLastListing(now.Add(3*time.Minute+1), 3*time.Minute)
	assert.False(t, ok)
	assert.EqualError(t, err, "pleg: the last listing that succeeded began 3m0.000000001s ago, threshold is 3m0s; a listing ended 2m0.000000001s ago")
	ok, _ = r.checkLastListing(now.Add(-time.Hour), 3*time.Minute)
	assert.True(t, ok, "a clock that was set back is no illness")
}

// Readers whose context has ended leave nothing behind (D-5).
func TestNewerThan_LeavesNothingBehind(t *testing.T) {
	p, err := New(Config{Runtime: none{}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, err = p.NewerThan(ctx, "a", 0)
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Empty(t, p.mu.table.records["a"].waiters)
	require.NoError(t, p.Relist(t.Context()))
	assert.Empty(t, p.mu.table.records)
	assert.Empty(t, p.mu.table.queue)
}

// none is a runtime without pods.
type none struct{}

func (none) ListPods(context.Context) ([]runtime.Pod, error) { return nil, nil }
func (none) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return &runtime.PodStatus{UID: uid}, nil
}

// A stream that has delivered an event or been open long enough replaces frequent listings only
// from the first listing that began after it was opened.
func TestRhythm_StreamCovers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := listSchedule{streamOpen: true, streamOpenedAt: now, eventReceived: true, streamListMark: 7, number: 7}
	assert.False(t, r.isStreamSufficient(now), "the listing began before")
	r.number = 8
	assert.True(t, r.isStreamSufficient(now))
	r.err = assert.AnError
	assert.False(t, r.isStreamSufficient(now), "the last listing failed")
	r.err, r.eventReceived = nil, false
	assert.False(t, r.isStreamSufficient(now.Add(streamTrustedAfter-1)))
	assert.True(t, r.isStreamSufficient(now.Add(streamTrustedAfter)))
	r.streamOpen = false
	assert.False(t, r.isStreamSufficient(now.Add(streamTrustedAfter)))
}
