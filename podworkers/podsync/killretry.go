package podsync

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

// killRetry is the delay between attempts to end a pod.
var killRetry = backoff.Exponential{Initial: 10 * time.Second, Max: time.Minute, Reset: 10 * time.Minute}

// killed notes how a kill has ended, and gives its error the time of the next try: 10,
// 20, 40 and 60 seconds after failures in a row. A kill that was cut short has not
// failed.
func (s *Syncer) killed(ctx context.Context, v *syncPass, err error) error {
	switch {
	case err == nil:
		if v.incarnation.kills != nil {
			v.incarnation.kills.failed = backoff.State{}
		}
		return nil
	case cut(ctx, err):
		return err
	}
	now := s.executor.Now()
	k := v.incarnation.killing()
	k.failed = killRetry.Failed(k.failed, now)
	return &laterError{err, podworkers.RetryAfter(errLater, now.Add(k.failed.Delay))}
}

// errLater is what a time of a next try is about.
var errLater = errors.New("podsync: later")

// laterError is an error that is tried again at a time of its own. Unlike one that is
// nothing but a wait it is worth being told.
type laterError struct{ err, retry error }

// Error implements error.
func (e *laterError) Error() string { return e.err.Error() }

// Unwrap gives the error, and when to come back.
func (e *laterError) Unwrap() []error { return []error{e.err, e.retry} }
