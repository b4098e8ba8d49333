package longtest

import (
	"fmt"
	"os"
)

// envVariable enables the long form if it is 1.
const envVariable = "PODKEEL_LONG"

// Run reports whether the tests do all their work.
func Run() bool { return os.Getenv(envVariable) == "1" }

// Count returns long if the tests do all their work, and short otherwise. It is for a number of
// repetitions, a depth or a size. It panics unless 0 < short <= long, because a short form that
// does nothing could not fail.
func Count(short, long int) int {
	if short < 1 || short > long {
		panic(fmt.Sprintf("longtest: expected 0 < short <= long, got %d and %d", short, long))
	}
	if Run() {
		return long
	}
	return short
}

// Stride returns the distance between the steps of a story at which a test crashes the agent. It is
// 1 if the tests do all their work. Otherwise it is so large that the test crashes at no more than
// points steps. points must be at least 1.
func Stride(steps, points int) int {
	if Run() {
		return 1
	}
	return max(1, (steps+points-1)/points)
}
