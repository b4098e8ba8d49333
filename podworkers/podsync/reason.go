package podsync

import (
	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// failure is an error with the reason that a waiting container shows, and a
// message that does not repeat it.
type failure struct {
	reason podstatus.Reason
	err    error
}

func (f *failure) Error() string        { return f.reason.Error() + ": " + f.err.Error() }
func (f *failure) Unwrap() error        { return f.err }
func (f *failure) Is(target error) bool { return target == error(f.reason) }

// As makes errors.As find the reason.
func (f *failure) As(target any) bool {
	reason, ok := target.(*podstatus.Reason)
	if ok {
		*reason = f.reason
	}
	return ok
}

// because gives an error its reason. A nil error stays nil.
func because(reason podstatus.Reason, err error) error {
	if err == nil {
		return nil
	}
	return &failure{reason, err}
}

// waiting is what a container shows that could not be started for this error.
// False: nothing, the error says nothing about the container.
func waiting(err error) (plan.Reason, bool) {
	f, ok := contain.AsType[*failure](err)
	if !ok {
		return plan.Reason{}, false
	}
	return plan.Reason{Reason: string(f.reason), Message: plain.Text(f.err.Error())}, true
}
