//go:build race

package lifecycle_test

// raced: the race detector makes the walk ten times slower, and finds nothing in a package without
// goroutines.
const raced = true
