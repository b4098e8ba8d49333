package poll

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Response is the result of one request.
type Response struct {
	// Err is set if there is no response, or an incomplete one.
	Err error
	// Status is the HTTP status code, Text its reason phrase, and ETag the ETag of the document.
	Status int
	Text   string
	ETag   string
	// RetryAfter is the Retry-After of the server; 0: none.
	RetryAfter time.Duration
}

// Outcome is what a response says about the document.
type Outcome int

const (
	// Unknown: the response is an error. The last document stays.
	Unknown Outcome = iota
	// Unchanged: the document has not changed since the last response with a body.
	Unchanged
	// Changed: the body is the new document.
	Changed
)

// The errors of a response.
var (
	// ErrStatus is a response with an unexpected status.
	ErrStatus = errors.New("the server answers")
	// ErrUnexpectedNotModified is a status 304 for a request without an ETag.
	ErrUnexpectedNotModified = errors.New("the server answers 304 Not Modified to a request without an ETag")
)

const (
	// maxETag is the longest ETag that is sent back.
	maxETag = 1 << 10
	// minDelay is the first delay after a failure. maxRetryAfter is the longest Retry-After that is
	// obeyed.
	minDelay      = time.Second
	maxRetryAfter = 10 * time.Minute

	statusOK, statusNotModified = 200, 304
)

// State is what must be stored between two requests. The zero State belongs to a document that was
// never requested.
type State struct {
	etag       string
	failures   int
	retryAfter time.Duration
}

// Resume returns the State of a caller that already has the document with an ETag.
func Resume(etag string) State { return State{etag: etag} }

// ETag returns the ETag for the next request; empty: none.
func (s *State) ETag() string { return s.etag }

// HasFailed reports whether the last response was an error.
func (s *State) HasFailed() bool { return s.failures > 0 }

// HandleResponse updates the state with a response. If the outcome is Unknown the error says why.
func (s *State) HandleResponse(a Response) (Outcome, error) {
	meaning, err := s.classifyByStatusAndETag(a)
	if err != nil {
		s.failures++
		s.retryAfter = min(max(a.RetryAfter, 0), maxRetryAfter)
		return Unknown, err
	}
	s.failures, s.retryAfter = 0, 0
	if meaning == Changed {
		s.etag = etagIfValid(a.ETag)
	}
	return meaning, nil
}

// classifyByStatusAndETag returns what a response says about the document. Status 200 gives Changed. Status 304
// gives Unchanged if the request had an ETag. It returns an error for any other response.
func (s *State) classifyByStatusAndETag(a Response) (Outcome, error) {
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

// etagIfValid returns the ETag if it is short enough and has only printable ASCII characters, so that it can be
// sent in a header. If not, it returns an empty string.
func etagIfValid(etag string) string {
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

// Delay returns how long to wait before the next request; chance is a random number in [0,1). After
// a success it is the period, plus or minus a tenth, so that many nodes do not send their requests
// at the same time. After failures it is one second, doubled by each failure up to the period, plus
// or minus a half, and never less than the server's Retry-After.
func (s *State) Delay(period time.Duration, chance float64) time.Duration {
	if s.failures == 0 {
		return withJitter(period, 0.1, chance)
	}
	delay := min(minDelay, period)
	for range min(s.failures-1, 32) {
		delay = min(2*delay, period)
	}
	return max(withJitter(delay, 0.5, chance), s.retryAfter)
}

// withJitter returns d, made longer or shorter by at most the given fraction of d. chance, a random number in
// [0,1), decides by how much.
func withJitter(d time.Duration, fraction, chance float64) time.Duration {
	return time.Duration(float64(d) * (1 - fraction + 2*fraction*chance))
}

// RetryAfter parses a Retry-After header. It returns 0 for an invalid one.
func RetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
