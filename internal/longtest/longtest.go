package longtest

import (
	"fmt"
	"os"
)

// envVariable makes the tests do all their work if it is 1.
const envVariable = "PODKEEL_LONG"

// Run reports whether the tests do all their work.
func Run() bool { return os.Getenv(envVariable) == "1" }

// Count returns how often, how deep or how large: long if the tests do all their work, and short
// otherwise. It panics unless 0 < short <= long. A short form that does nothing could not fail.
func Count(short, long int) int {
	if short < 1 || short > long {
		panic(fmt.Sprintf("longtest: the short form has to do something, and no more than the long one: %d and %d", short, long))
	}
	if Run() {
		return long
	}
	return short
}

// Stride returns the distance between the steps of a story at which a test crashes the agent. It
// is 1 if the tests do all their work. Otherwise the test visits at most as many steps as points
// says, from the first to the last part of the story. Points is at least 1.
func Stride(steps, points int) int {
	if Run() {
		return 1
	}
	return max(1, (steps+points-1)/points)
}
