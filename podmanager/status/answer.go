package status

import (
	"errors"
	"time"
)

var (
	// ErrRefused is wrapped by the error of a Sink whose destination rejects a status and would
	// reject it again. The Sender drops the status and sends the next newer one.
	ErrRefused = errors.New("status: refused")
	// ErrNotYet is wrapped by the error of a Sink whose destination does not have the pod yet, such
	// as a static pod without a mirror pod. The Sender waits for a newer status or for Resend. The
	// pod does not count as unsent.
	ErrNotYet = errors.New("status: the destination does not have the pod yet")
)

// retryError is an error of a Sink that says when to send again.
type retryError struct {
	err   error
	after time.Duration
	all   bool
}

// Error returns the text of the wrapped error.
func (d *retryError) Error() string { return d.err.Error() }

// Unwrap returns the wrapped error.
func (d *retryError) Unwrap() error { return d.err }

// RetryAfter wraps the error of a Sink. The Sender sends the status of this pod again, or a newer
// one, when at least this time has passed. When the context of Run ends, it tries once before that.
func RetryAfter(err error, after time.Duration) error { return &retryError{err: err, after: after} }

// Unavailable wraps the error of a Sink whose destination cannot be reached or is overloaded. The
// Sender sends no status of any pod for at least this time. Then it sends one status to test the
// destination. With a time of zero or less the pause is SenderConfig.Retry of the number of
// failures in a row. When the context of Run ends, it sends one status before that.
func Unavailable(err error, after time.Duration) error {
	return &retryError{err: err, after: after, all: true}
}
