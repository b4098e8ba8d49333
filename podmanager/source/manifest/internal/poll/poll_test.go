package poll_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/podmanager/source/manifest/internal/poll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStories runs testdata. Commands:
//
//	resume etag=                           a caller that already has a document
//	answer [status=] [etag=] [retry=] [err=]   the outcome of a response, and when the next request is due
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s poll.State
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var a poll.Response
			var failure, retry string
			d.MaybeScanArgs(t, "etag", &a.ETag)
			if d.Cmd == "resume" {
				s = poll.Resume(a.ETag)
				return ""
			}
			d.MaybeScanArgs(t, "status", &a.Status)
			d.MaybeScanArgs(t, "err", &failure)
			d.MaybeScanArgs(t, "retry", &retry)
			if failure != "" {
				a.Err = errors.New(failure)
			}
			a.RetryAfter = poll.RetryAfter(strings.ReplaceAll(retry, "_", " "), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			a.ETag = strings.ReplaceAll(a.ETag, `\n`, "\n")
			asked := s.ETag()
			meaning, err := s.HandleResponse(a)
			out := []string{"unknown", "unchanged", "changed"}[meaning]
			if err != nil {
				out += ": " + err.Error()
			}
			if asked != "" {
				out = "asked with " + asked + "; " + out
			}
			const period = 20 * time.Second
			return fmt.Sprintf("%s; next in %v to %v\n", out, s.Delay(period, 0), s.Delay(period, 1))
		})
	})
}

// TestDelay_Long: for any number of failures the delay is within the period.
func TestDelay_Long(t *testing.T) {
	var s poll.State
	for range 1000 {
		_, _ = s.HandleResponse(poll.Response{Status: 500})
		assert.LessOrEqual(t, s.Delay(time.Minute, 0.5), time.Minute)
		assert.LessOrEqual(t, s.Delay(time.Millisecond, 0.5), time.Millisecond)
	}
	assert.True(t, s.HasFailed())
	assert.Equal(t, time.Minute, s.Delay(time.Minute, 0.5))
}

// TestRetryAfter: seconds or a date; any other value is 0.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999999999": 0,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute, "Wed, 31 Dec 2025 00:01:00 GMT": 0,
	} {
		assert.Equal(t, want, poll.RetryAfter(header, now), header)
	}
}

// An ETag is sent back if it is valid in a header: the first and the last byte of each kind, and
// the longest.
func TestTake_VersionsThatMayBeSentBack(t *testing.T) {
	longest := strings.Repeat("x", 1<<10)
	for etag, want := range map[string]string{
		longest: longest, longest + "x": "", "a b": "a b", "a\x1fb": "", "a~b": "a~b", "a\x7fb": "", "a\x80b": "", "\t": "",
	} {
		var s poll.State
		_, err := s.HandleResponse(poll.Response{Status: 200, ETag: etag})
		assert.NoError(t, err)
		assert.Equal(t, want, s.ETag(), "%.10q", etag)
	}
}

func TestFailed(t *testing.T) {
	var s poll.State
	assert.False(t, s.HasFailed(), "nothing has been asked")
	_, err := s.HandleResponse(poll.Response{Status: 500})
	assert.Error(t, err)
	assert.True(t, s.HasFailed())
	_, err = s.HandleResponse(poll.Response{Status: 200})
	assert.NoError(t, err)
	assert.False(t, s.HasFailed())
}
