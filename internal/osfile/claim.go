package osfile

import "errors"

// ErrClaimed is for a directory that another agent has.
var ErrClaimed = errors.New("another agent uses it")
