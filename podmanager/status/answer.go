package status

import (
	"errors"
	"time"
)

var (
	// ErrRefused is wrapped by the error of a Sink whose destination refuses a status and
	// would refuse it again. The Sender drops it and sends the next newer status.
	ErrRefused = errors.New("status: refused")
	// ErrNotYet is wrapped by the error of a Sink whose destination does not have the pod
	// yet, such as a static pod without its mirror pod. The Sender waits for a newer status
	// or for Resend. The pod does not count as unsent.
	ErrNotYet = errors.New("status: the destination does not have the pod yet")
)

// delayed is an error that says when to send again.
type delayed struct {
	err   error
	after time.Duration
	all   bool
}

// Error is that of what failed.
func (d *delayed) Error() string { return d.err.Error() }

// Unwrap is what failed.
func (d *delayed) Unwrap() error { return d.err }

// RetryAfter wraps the error of a Sink: the pod's status is sent again once at least this
// time has passed, also a newer one. When the context of Run ends it is tried once before that.
func RetryAfter(err error, after time.Duration) error { return &delayed{err: err, after: after} }

// Unavailable wraps the error of a Sink whose destination cannot be reached or has no time:
// statuses of all pods wait at least this time, then one is sent to see whether the
// destination is back. With a time of zero or less the pause is SenderConfig.Retry of the
// failures in a row. When the context of Run ends one status is sent before that.
func Unavailable(err error, after time.Duration) error {
	return &delayed{err: err, after: after, all: true}
}
