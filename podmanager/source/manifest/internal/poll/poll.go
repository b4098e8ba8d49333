package poll

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Response is what came of one request.
type Response struct {
	// Err is why there is no answer, or no whole one.
	Err error
	// Status is the HTTP status, Text what it is called, and ETag the version that the server
	// gives the document.
	Status int
	Text   string
	ETag   string
	// RetryAfter is how long the server wants to be left alone; 0 if it does not say.
	RetryAfter time.Duration
}

// Outcome is what an answer says of the document.
type Outcome int

const (
	// Unknown: the answer says nothing. The last document stays.
	Unknown Outcome = iota
	// Unchanged: the document is the one that the last answer with a body had.
	Unchanged
	// Changed: the body is the document.
	Changed
)

// What an answer that says nothing can be.
var (
	// ErrStatus is an answer with a status other than 200.
	ErrStatus = errors.New("the server answers")
	// ErrUnexpectedNotModified is an answer that nothing has changed, to a request that named no version.
	ErrUnexpectedNotModified = errors.New("the server answers that nothing has changed, but was not asked so")
)

const (
	// maxETag is the longest version that is sent back.
	maxETag = 1 << 10
	// minDelay is the first delay after a failure, maxRetryAfter the longest that a server
	// can ask for.
	minDelay      = time.Second
	maxRetryAfter = 10 * time.Minute

	statusOK, statusNotModified = 200, 304
)

// State is what has to be remembered between two requests. The zero State has asked nothing.
type State struct {
	etag       string
	failures   int
	retryAfter time.Duration
}

// Resume is the State of one who has the document of a version.
func Resume(etag string) State { return State{etag: etag} }

// ETag is the version that the next request should name; empty for none.
func (s *State) ETag() string { return s.etag }

// HasFailed reports whether the last answer said nothing.
func (s *State) HasFailed() bool { return s.failures > 0 }

// HandleResponse takes in an answer. The error says why its meaning is Unknown.
func (s *State) HandleResponse(a Response) (Outcome, error) {
	meaning, err := s.meaning(a)
	if err != nil {
		s.failures++
		s.retryAfter = min(max(a.RetryAfter, 0), maxRetryAfter)
		return Unknown, err
	}
	s.failures, s.retryAfter = 0, 0
	if meaning == Changed {
		s.etag = usable(a.ETag)
	}
	return meaning, nil
}

func (s *State) meaning(a Response) (Outcome, error) {
	switch {
	case a.Err != nil:
		return Unknown, a.Err
	case a.Status == statusOK:
		return Changed, nil
	case a.Status == statusNotModified && s.etag != "":
		return Unchanged, nil
	case a.Status == statusNotModified:
		return Unknown, ErrUnexpectedNotModified
	}
	return Unknown, fmt.Errorf("%w %s", ErrStatus, strings.TrimSpace(strconv.Itoa(a.Status)+" "+a.Text))
}

// usable is a version that may be sent back in a header; empty if it may not.
func usable(etag string) string {
	if len(etag) > maxETag {
		return ""
	}
	for _, c := range []byte(etag) {
		if c < ' ' || c >= 0x7f {
			return ""
		}
	}
	return etag
}

// Delay is how long to wait before the next request; chance is a number in [0,1). After an
// answer it is the period, give or take a tenth, so that many nodes do not ask at one time. After
// failures it is one second, doubled by each up to the period, give or take a half; and never less
// than the server has asked for.
func (s *State) Delay(period time.Duration, chance float64) time.Duration {
	if s.failures == 0 {
		return spread(period, 0.1, chance)
	}
	delay := min(minDelay, period)
	for range min(s.failures-1, 32) {
		delay = min(2*delay, period)
	}
	return max(spread(delay, 0.5, chance), s.retryAfter)
}

// spread is a duration, more or less by a part of it.
func spread(d time.Duration, part, chance float64) time.Duration {
	return time.Duration(float64(d) * (1 - part + 2*part*chance))
}

// RetryAfter reads a header of that name; 0 if it says nothing.
func RetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
