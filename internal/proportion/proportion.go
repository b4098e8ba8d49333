package proportion

import (
	"math"
	"testing"
	"time"
)

// slack is how many times longer than in proportion the large work may take: caches and the
// garbage collector treat it worse, and a loop within a loop takes longer than this.
const slack = 8

// attempts bounds how often both are tried on a machine that is busy with something else.
const attempts = 300

// Check fails the test if large, which is times the size of small, takes much more than
// so many times as long. Each counts by its fastest run. Under the race detector, whose own
// records of a large allocation are in no proportion to it, both run once and nothing is
// compared.
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
			quick = min(quick, timeOf(small))
		}
		if slow = min(slow, timeOf(large)); slow < time.Duration(slack*times)*quick {
			return
		}
	}
	t.Errorf("not in proportion: %d times the size took %s, and the size itself %s", times, slow, quick)
}

func timeOf(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
