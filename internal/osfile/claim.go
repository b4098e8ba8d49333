package osfile

import "errors"

// ErrLocked is for a directory that another agent has.
var ErrLocked = errors.New("another agent uses it")
