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
	// ErrInvalid: the update is invalid and changed nothing.
	ErrInvalid = lifecycle.ErrInvalid
	// ErrStopped: Run has returned. The pod may still be running.
	ErrStopped = errors.New("podworkers: the workers have been stopped")
	// ErrPodDesired: the kill of a running pod was refused, because the pod is desired and was
	// updated after the runtime was observed.
	ErrPodDesired = errors.New("podworkers: the pod is desired and was not killed")
	// ErrQueue: Config.Queue panicked or violated its contract. Run returned as if its context had
	// ended.
	ErrQueue = errors.New("podworkers: the work queue failed")
	// ErrNotDrained: Run returned although calls were still running, because they ignored their
	// context for too long.
	ErrNotDrained = errors.New("podworkers: syncs ignore that their context has ended")
)

// Terminal marks an error of a PodSyncer as one that no retry can fix. The pod is synced again when
// something changes, or at the next resync, and not earlier. The mark is found inside errors.Join,
// fmt.Errorf with %w, and the Aggregate of k8s.io/apimachinery.
//
// Two marks have no effect. If a marked error is joined with an unmarked one, the pod is retried
// after its backoff, because a retry may fix the unmarked error. An error of a termination is
// always retried, because a termination must succeed. Terminal returns nil for a nil error.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// terminalError is the mark of Terminal.
type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// RetryAfter marks an error of a PodSyncer with the time before which a retry is useless, for
// example the end of a backoff. If a tree of errors has several such times, the earliest one
// counts. A time in the past counts as a transient failure. RetryAfter returns nil for a nil error.
func RetryAfter(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &retryError{err: err, at: at}
}

// RetryAt is RetryAfter for a time that users have seen, for example in a status. Jitter does not
// delay that retry (Config.Jitter). RetryAt returns nil for a nil error.
func RetryAt(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &retryError{err: err, at: at, exact: true}
}

// retryError is the mark of RetryAfter and RetryAt.
type retryError struct {
	err   error
	at    time.Time
	exact bool // without jitter
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// RetryAt returns the time of the retry. Callers find the method in a tree of errors.
func (e *retryError) RetryAt() time.Time { return e.at }

// isExistsErrorUnlessMarked reports whether an error in the tree of errors is runtime.ErrExists. The runtime
// then still works on an earlier call for the same container attempt, whose reply did not arrive. It ignores
// errors that are marked with Terminal, RetryAfter or RetryAt.
func isExistsErrorUnlessMarked(err error) bool {
	switch err.(type) {
	case *retryError, *terminalError:
		return false
	}
	parts := contain.ErrorParts(err)
	return slices.ContainsFunc(parts, isExistsErrorUnlessMarked) || len(parts) == 0 && errors.Is(err, runtime.ErrExists)
}

// isEveryBranchTerminal reports whether every branch of the error (each joined error) is marked with Terminal.
func isEveryBranchTerminal(err error) bool {
	return allBranchesMarked(err, func(err error) bool { _, ok := err.(*terminalError); return ok })
}

// isRetryTimeOnly reports whether every branch of the error (each joined error) is marked with RetryAfter or
// RetryAt.
func isRetryTimeOnly(err error) bool {
	return allBranchesMarked(err, func(err error) bool { _, ok := err.(*retryError); return ok })
}

// allBranchesMarked reports whether each branch of the tree of errors contains an error for which isMarked
// returns true. It returns false for an unmarked nil.
func allBranchesMarked(err error, isMarked func(error) bool) bool {
	if isMarked(err) {
		return true
	}
	parts := contain.ErrorParts(err)
	for _, part := range parts {
		if !allBranchesMarked(part, isMarked) {
			return false
		}
	}
	return len(parts) > 0
}

// earliestRequestedRetry returns the earliest time of all RetryAfter and RetryAt marks in the tree of errors.
// ok is false if there is no such mark (B-101).
func earliestRequestedRetry(err error) (at time.Time, ok bool) {
	return earliestRetryTime(err, func(*retryError) bool { return true })
}

// earliestExactRetryTime returns the earliest time of the RetryAt marks in the tree of errors, or the zero time
// if there is none. It ignores RetryAfter marks.
func earliestExactRetryTime(err error) time.Time {
	at, _ := earliestRetryTime(err, func(e *retryError) bool { return e.exact })
	return at
}

// earliestRetryTime returns the earliest time of those retry marks in the tree of errors for which include
// returns true. ok is false if there is none.
func earliestRetryTime(err error, include func(*retryError) bool) (at time.Time, ok bool) {
	if e, marked := err.(*retryError); marked && include(e) {
		at, ok = e.at, true
	}
	for _, inner := range contain.ErrorParts(err) {
		if t, found := earliestRetryTime(inner, include); found && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
