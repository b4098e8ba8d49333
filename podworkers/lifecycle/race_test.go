//go:build race

package lifecycle_test

// The race detector makes the walk ten times slower, and finds nothing in a
// package without goroutines.
func init() { *walkDepth = 5 }
