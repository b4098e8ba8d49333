//go:build !unix

package debug

// openFileLimit returns how many files the process may open. 0 means that there is no limit or that it is
// unknown.
func openFileLimit() uint64 { return 0 }
