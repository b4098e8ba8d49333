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

// The errors of this package, in addition to the errors of package runtime.
var (
	// ErrForeign: the record belongs to another owner. The call had no effect.
	ErrForeign = errors.New("cri: the record belongs to another owner")
	// ErrStillRuns: the runtime reported a stop as successful, but the container or sandbox runs.
	ErrStillRuns = errors.New("cri: still running after a successful stop")
	// ErrMalformed: the response of the runtime is not valid.
	ErrMalformed = errors.New("cri: malformed response")
)

// translateError translates a gRPC error to an error of package runtime. It returns nil for nil. If the
// caller's context has ended, it returns the context's error. For a timeout of this package or a broken
// connection it returns ErrNotReady; it is then unknown whether the runtime has made the call.
func (r *Runtime) translateError(ctx context.Context, verb string, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("cri: %s: %w", verb, ended)
	}
	s := status.Convert(err)
	if end, ok := ctx.Deadline(); ok && s.Code() == codes.DeadlineExceeded && !r.executor.Now().Before(end) {
		return fmt.Errorf("cri: %s: %w", verb, context.DeadlineExceeded) // The runtime noticed the deadline a moment earlier.
	}
	return &callError{verb, sentinelForCode(s.Code()), s}
}

// sentinelForCode returns the error of package runtime for a gRPC code, or nil if the code has none.
func sentinelForCode(code codes.Code) error {
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

// callError is the error of a CRI call.
type callError struct {
	verb     string
	sentinel error // error of package runtime; nil if none fits
	status   *status.Status
}

// Error implements error.
func (f *callError) Error() string {
	if f.sentinel == nil {
		return fmt.Sprintf("cri: %s: %s: %s", f.verb, f.status.Code(), f.status.Message())
	}
	return fmt.Sprintf("cri: %s: %v: %s: %s", f.verb, f.sentinel, f.status.Code(), f.status.Message())
}

// Unwrap returns the error of package runtime.
func (f *callError) Unwrap() error { return f.sentinel }

// grpcCode returns the gRPC code in the error of a failed call. It returns OK for any other error and for nil.
func grpcCode(err error) codes.Code {
	if f, ok := contain.AsType[*callError](err); ok {
		return f.status.Code()
	}
	return codes.OK
}

// isContextOrReadinessOrUnsupportedError reports whether the context of a call has ended, or its error says
// that the runtime is not ready or does not support the call. For such an error the caller does not look for
// the cause in the state of the container or sandbox.
func isContextOrReadinessOrUnsupportedError(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, runtime.ErrNotReady) || errors.Is(err, runtime.ErrUnsupported)
}

// isNameReserved reports whether a create call failed because another create call in progress has reserved the
// name. It compares the error text of containerd, because containerd has no error code for this case. If that
// text ever changes, it returns false, and the caller still repeats the same attempt (F56).
func isNameReserved(err error) bool {
	f, ok := contain.AsType[*callError](err)
	return ok && f.status.Code() == codes.Unknown && strings.Contains(f.status.Message(), " is reserved for ")
}

// existsError builds an error that wraps ErrExists. verb and what are words of the error text.
func existsError(verb, what string) error {
	return fmt.Errorf("cri: %s: %w: %s", verb, runtime.ErrExists, what)
}
