package proportion

import (
	"math"
	"testing"
	"time"
)

// slack is how many times longer than proportional the large work may take. Caches and the garbage
// collector slow down large work. Quadratic work exceeds this.
const slack = 8

// attempts is how often the comparison is repeated at most, because the machine may be busy.
const attempts = 300

// Check fails the test if large, which has times the size of small, takes more than slack*times as
// long. Only the fastest run of each counts. Under the race detector both run once and nothing is
// compared: its records of a large allocation make the times incomparable.
func Check(t testing.TB, small, large func(), times int) {
	t.Helper()
	if underRaceDetector {
		small()
		large()
		return
	}
	quick, slow := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range attempts {
		for range times {
			quick = min(quick, runAndTime(small))
		}
		if slow = min(slow, runAndTime(large)); slow < time.Duration(slack*times)*quick {
			return
		}
	}
	t.Errorf("not proportional: %d times the size took %s, the size itself %s", times, slow, quick)
}

// runAndTime runs work and returns the real time that it takes.
func runAndTime(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
