package podsync

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

// killRetry is the delay between attempts to kill a pod.
var killRetry = backoff.Exponential{Initial: 10 * time.Second, Max: time.Minute, Reset: 10 * time.Minute}

// noteKillResult counts the failures of a kill in a row, and returns its error with the time of the next
// attempt: after 10, 20, 40 and 60 seconds. A kill that was cut short has not failed.
func (k *podKiller) noteKillResult(ctx context.Context, err error) error {
	switch {
	case err == nil:
		k.incarnation.killFailed = backoff.State{}
		return nil
	case isCancelled(ctx, err):
		return err
	}
	now := k.executor.Now()
	failed := killRetry.Failed(k.incarnation.killFailed, now)
	k.incarnation.killFailed = failed
	return &laterError{err, podworkers.RetryAfter(errLater, now.Add(failed.Delay))}
}

// errLater is the error inside the time of a next attempt.
var errLater = errors.New("podsync: later")

// laterError is an error with the time of the next attempt. Its text is the error's alone.
type laterError struct{ err, retry error }

// Error implements error.
func (e *laterError) Error() string { return e.err.Error() }

// Unwrap returns the error and the time.
func (e *laterError) Unwrap() []error { return []error{e.err, e.retry} }
