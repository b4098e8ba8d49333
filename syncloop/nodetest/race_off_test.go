//go:build !race

package nodetest_test

const raced = false

// crashStride: each step has a crash.
const crashStride = 1
