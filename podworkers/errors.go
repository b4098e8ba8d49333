package podworkers

import (
	"errors"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// The errors of UpdatePod, Run and a Completion.
var (
	// ErrInvalid: the update makes no sense and has changed nothing.
	ErrInvalid = lifecycle.ErrInvalid
	// ErrStopped: Run has ended. Whether the pod still runs is not known.
	ErrStopped = errors.New("podworkers: the workers have been stopped")
	// ErrPodDesired: the kill of a running pod was refused, because the pod is desired,
	// or has no record that could be killed.
	ErrPodDesired = errors.New("podworkers: the pod is desired and was not killed")
	// ErrQueue: Config.Queue has panicked, or its answer contradicts its contract. Run has
	// ended as if its context had.
	ErrQueue = errors.New("podworkers: the work queue failed")
	// ErrNotDrained: Run gave up waiting for syncs that ignore their context.
	ErrNotDrained = errors.New("podworkers: syncs ignore that their context has ended")
)

// Terminal marks an error of a PodSyncer that no retry can mend. The pod is synced again
// when something changes, or at the next resync, and not before. The mark is found in
// whatever wraps it: errors.Join, %w, and the Aggregate of k8s.io/apimachinery. Joined
// with an error that is not marked it does not count, and in a termination neither: that
// has to end. A nil error stays nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// RetryAfter marks an error of a PodSyncer with the time before which a retry
// is useless: when a backoff expires, say. Of several in one tree of errors
// the earliest counts; one that is past counts as a failure that passes soon. A
// nil error stays nil.
func RetryAfter(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &retryError{err: err, at: at}
}

// RetryAt marks an error of a PodSyncer with the time of the next attempt, which people have
// been told. It is as RetryAfter, but chance does not delay that attempt (Config.Jitter). A
// nil error stays nil.
func RetryAt(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &retryError{err: err, at: at, exact: true}
}

type retryError struct {
	err   error
	at    time.Time
	exact bool // without jitter
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// RetryAt is the time that the error names, for callers that look for the mark in a tree
// of errors.
func (e *retryError) RetryAt() time.Time { return e.at }

// passes is true if part of the error says that the runtime has not come to an end
// yet with an earlier call for the same attempt, whose reply was lost: that
// tends to be over soon. Whoever has marked a part knows better.
func passes(err error) bool {
	switch err.(type) {
	case *retryError, *terminalError:
		return false
	}
	parts := contain.ErrorParts(err)
	return slices.ContainsFunc(parts, passes) || len(parts) == 0 && errors.Is(err, runtime.ErrExists)
}

// isTerminal is true if no part of the error could be mended by a retry: of
// several joined errors each must be marked.
func isTerminal(err error) bool {
	return every(err, func(err error) bool { _, ok := err.(*terminalError); return ok })
}

// isWait is true if each part of the error only says when to come back.
func isWait(err error) bool {
	return every(err, func(err error) bool { _, ok := err.(*retryError); return ok })
}

// every is true if the mark is found in each branch of the tree of errors.
func every(err error, marked func(error) bool) bool {
	if marked(err) {
		return true
	}
	parts := contain.ErrorParts(err)
	for _, part := range parts {
		if !every(part, marked) {
			return false
		}
	}
	return len(parts) > 0
}

// retryAt returns the earliest time that any error in the tree asks for (B-101).
func retryAt(err error) (at time.Time, ok bool) {
	return earliest(err, func(*retryError) bool { return true })
}

// exactRetryAt returns the earliest time that any error in the tree asks for by RetryAt. It
// returns the zero time if there is none.
func exactRetryAt(err error) time.Time {
	at, _ := earliest(err, func(e *retryError) bool { return e.exact })
	return at
}

// earliest returns the earliest time of those marks in the tree of errors that count.
func earliest(err error, counts func(*retryError) bool) (at time.Time, ok bool) {
	if e, marked := err.(*retryError); marked && counts(e) {
		at, ok = e.at, true
	}
	for _, inner := range contain.ErrorParts(err) {
		if t, found := earliest(inner, counts); found && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
