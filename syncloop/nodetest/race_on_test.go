//go:build race

package nodetest_test

// raced: the race detector makes a simulation ten times slower and finds little in it,
// as it runs on one thread. The large suites play a part of their cells under it.
const raced = true

// crashStride: of the long stories only each seventh step has a crash.
const crashStride = 7
