package podsync

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

// killRetry is the delay between attempts to stop the containers and sandboxes of a pod.
var killRetry = backoff.Exponential{Initial: 10 * time.Second, Max: time.Minute, Reset: 10 * time.Minute}

// recordKillResultAndDelayRetry counts consecutive failed stops of the pod, and returns err with the time of
// the next attempt, after 10, 20, 40 and then 60 seconds. A nil err resets the count. The error of a cancelled
// call is returned unchanged and does not count.
func (k *podKiller) recordKillResultAndDelayRetry(ctx context.Context, err error) error {
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
	return &retryTimeError{err, podworkers.RetryAfter(errRetryLater, now.Add(failed.Delay))}
}

// errRetryLater is the placeholder error that podworkers.RetryAfter wraps.
var errRetryLater = errors.New("podsync: later")

// retryTimeError is an error with the time of the next attempt. Its text does not have the time.
type retryTimeError struct{ err, retry error }

// Error implements error.
func (e *retryTimeError) Error() string { return e.err.Error() }

// Unwrap returns both errors, so that errors.As finds the time of the next attempt.
func (e *retryTimeError) Unwrap() []error { return []error{e.err, e.retry} }
