//go:build !unix

package debug

// maxOpenFiles returns how many files the process may open; 0 is no limit.
func maxOpenFiles() uint64 { return 0 }
