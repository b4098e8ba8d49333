//go:build race

package nodetest_test

// raced: the race detector makes a simulation ten times slower and finds little in it,
// where no two goroutines run at once. What takes minutes without it takes part only.
const raced = true
