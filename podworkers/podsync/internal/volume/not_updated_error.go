package volume

// NotUpdatedError is the error of files that show objects, tokens or fields of a pod. Files that were written before
// stay as they are.
type NotUpdatedError struct{ Err error }

// Error returns the text of the inner error.
func (e *NotUpdatedError) Error() string { return e.Err.Error() }

// Unwrap returns the inner error.
func (e *NotUpdatedError) Unwrap() error { return e.Err }

// IsOnlyNotUpdated reports whether each branch of the tree of an error has a NotUpdatedError. A nil error has none.
func IsOnlyNotUpdated(err error) bool {
	switch e := err.(type) {
	case *NotUpdatedError:
		return true
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			if !IsOnlyNotUpdated(branch) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	case interface{ Unwrap() error }:
		return IsOnlyNotUpdated(e.Unwrap())
	}
	return false
}
