package osfile

import "errors"

// ErrLocked means that another process has locked the directory.
var ErrLocked = errors.New("another agent uses it")
