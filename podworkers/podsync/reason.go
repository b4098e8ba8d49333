package podsync

import (
	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// reasonError is an error with the waiting reason of a container. The message of the inner error does
// not repeat the reason.
type reasonError struct {
	reason podstatus.Reason
	err    error
}

func (f *reasonError) Error() string        { return f.reason.Error() + ": " + f.err.Error() }
func (f *reasonError) Unwrap() error        { return f.err }
func (f *reasonError) Is(target error) bool { return target == error(f.reason) }

// As lets errors.As find the reason.
func (f *reasonError) As(target any) bool {
	reason, ok := target.(*podstatus.Reason)
	if ok {
		*reason = f.reason
	}
	return ok
}

// withWaitingReason wraps an error with a waiting reason for the container status. A nil error stays nil.
func withWaitingReason(reason podstatus.Reason, err error) error {
	if err == nil {
		return nil
	}
	return &reasonError{reason, err}
}

// waitingReasonOfError returns the waiting reason that withWaitingReason has added to err, with the error text
// as its message. It returns false if err has none.
func waitingReasonOfError(err error) (plan.Reason, bool) {
	f, ok := contain.AsType[*reasonError](err)
	if !ok {
		return plan.Reason{}, false
	}
	return plan.Reason{Reason: string(f.reason), Message: plain.Text(f.err.Error())}, true
}
