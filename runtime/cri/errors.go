package cri

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// The errors of this package, besides those of package runtime.
var (
	// ErrForeign: the record belongs to another owner, and nothing was done.
	ErrForeign = errors.New("cri: it belongs to another owner")
	// ErrStillRuns: the runtime has said that something is stopped, and shows
	// that it runs.
	ErrStillRuns = errors.New("cri: it runs although the runtime says that it was stopped")
	// ErrMalformed: the runtime has answered with something that is no answer.
	ErrMalformed = errors.New("cri: malformed answer")
)

// failed is the one place where the codes of gRPC become ours. The end of the
// caller's context is that; the end of a deadline of our own, or of the
// connection, leaves open what has happened, which is ErrNotReady.
func (r *Runtime) failed(ctx context.Context, verb string, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("cri: %s: %w", verb, ended)
	}
	s := status.Convert(err)
	if end, ok := ctx.Deadline(); ok && s.Code() == codes.DeadlineExceeded && !r.executor.Now().Before(end) {
		return fmt.Errorf("cri: %s: %w", verb, context.DeadlineExceeded) // The runtime was a moment earlier.
	}
	return &failure{verb, sentinel(s.Code()), s}
}

// sentinel is the error of package runtime for a code, if there is one.
func sentinel(code codes.Code) error {
	switch code {
	case codes.NotFound:
		return runtime.ErrNotFound
	case codes.AlreadyExists:
		return runtime.ErrExists
	case codes.FailedPrecondition:
		return runtime.ErrWrongState
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return runtime.ErrNotReady
	case codes.Unimplemented:
		return runtime.ErrUnsupported
	}
	return nil
}

// failure is a call that failed.
type failure struct {
	verb   string
	ours   error // of package runtime; nil if none fits
	status *status.Status
}

// Error implements error.
func (f *failure) Error() string {
	if f.ours == nil {
		return fmt.Sprintf("cri: %s: %s: %s", f.verb, f.status.Code(), f.status.Message())
	}
	return fmt.Sprintf("cri: %s: %v: %s: %s", f.verb, f.ours, f.status.Code(), f.status.Message())
}

// Unwrap gives the error of package runtime.
func (f *failure) Unwrap() error { return f.ours }

// code is that of a failed call.
func code(err error) codes.Code {
	if f, ok := contain.AsType[*failure](err); ok {
		return f.status.Code()
	}
	return codes.OK
}

// undecided reports whether looking at once would tell no more than an error does:
// it leaves open what has happened, or nothing has, as the runtime cannot.
func undecided(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, runtime.ErrNotReady) || errors.Is(err, runtime.ErrUnsupported)
}

// reserved reports whether a name is taken by a call that is still under way
// in the runtime, perhaps one whose reply we have lost. This is the one place
// that reads a text: containerd gives no code for it, and a list does not show
// what is only about to be. If the text changes, the error is one without a
// name, and the same attempt is made again all the same (F56).
func reserved(err error) bool {
	f, ok := contain.AsType[*failure](err)
	return ok && f.status.Code() == codes.Unknown && strings.Contains(f.status.Message(), " is reserved for ")
}

// exists is an error about a name that is taken.
func exists(verb, what string) error {
	return fmt.Errorf("cri: %s: %w: %s", verb, runtime.ErrExists, what)
}
