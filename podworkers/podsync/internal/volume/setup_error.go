package volume

import "fmt"

// SetUpError is the error of one volume of a pod that cannot be set up.
type SetUpError struct {
	Volume string // the name of the volume in the spec of the pod
	Err    error
}

// Error returns the name of the volume and the text of the inner error.
func (e *SetUpError) Error() string { return fmt.Sprintf("volume %q: %v", e.Volume, e.Err) }

// Unwrap returns the inner error.
func (e *SetUpError) Unwrap() error { return e.Err }

// FindSetUpErrors returns each SetUpError in the tree of an error, in order. onlySetUpErrors is false if the tree has a
// branch without a SetUpError. A nil error has no branch.
func FindSetUpErrors(err error) (found []*SetUpError, onlySetUpErrors bool) {
	switch e := err.(type) {
	case nil:
		return nil, true
	case *SetUpError:
		return []*SetUpError{e}, true
	case interface{ Unwrap() []error }:
		onlySetUpErrors = len(e.Unwrap()) > 0
		for _, branch := range e.Unwrap() {
			below, only := FindSetUpErrors(branch)
			found, onlySetUpErrors = append(found, below...), onlySetUpErrors && only
		}
		return found, onlySetUpErrors
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return FindSetUpErrors(inner)
		}
	}
	return nil, false
}
