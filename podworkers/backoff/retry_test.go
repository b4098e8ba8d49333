package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

func TestRetry_B098toB102_KubeletNumbers(t *testing.T) {
	const s = time.Second
	var p backoff.Retry
	own := backoff.Retry{Resync: 8 * s, Backoff: 4 * s, Transient: 2 * s, JitterFactor: 1}
	for _, tc := range []struct {
		name   string
		policy backoff.Retry
		class  backoff.Class
		at     time.Duration
		shortest,
		longest time.Duration // random 0, and random 1
	}{
		{"B099 success", p, backoff.Resync, 5 * s, 60 * s, 90 * s},
		{"B099 stable", p, backoff.Stable, 5 * s, 600 * s, 900 * s},
		{"B099 stable, own resync", own, backoff.Stable, 0, 80 * s, 160 * s},
		{"B099 own stable", backoff.Retry{Stable: 120 * s}, backoff.Stable, 0, 120 * s, 180 * s},
		{"B099 stable not below resync", backoff.Retry{Stable: s}, backoff.Stable, 0, 60 * s, 90 * s},
		{"B099 stable, the longest that is no eternity", backoff.Retry{Resync: math.MaxInt64 / 10}, backoff.Stable, 0, math.MaxInt64 / 10 * 10, math.MaxInt64},
		{"B099 stable for ever", backoff.Retry{Resync: math.MaxInt64 / 9}, backoff.Stable, 0, math.MaxInt64, math.MaxInt64},
		{"B100 transient", p, backoff.Transient, 0, s, 1500 * time.Millisecond},
		{"B101 expiry", p, backoff.RetryAt, 20 * s, 20 * s, 30 * s},
		{"B101 expiry past", p, backoff.RetryAt, -s, 0, 0},
		{"B101 expiry beyond resync", p, backoff.RetryAt, 300 * s, 60 * s, 90 * s},
		{"B102 error", p, backoff.Failed, 0, 10 * s, 15 * s},
		{"B102 unheard-of class", p, backoff.Class(99), 0, 10 * s, 15 * s},
		{"unavailable, with a time", p, backoff.Unavailable, 20 * s, 20 * s, 30 * s},
		{"own success", own, backoff.Resync, 0, 8 * s, 16 * s},
		{"own error", own, backoff.Failed, 0, 4 * s, 8 * s},
		{"own transient", own, backoff.Transient, 0, 2 * s, 4 * s},
		{"own expiry beyond resync", own, backoff.RetryAt, 300 * s, 8 * s, 16 * s},
		{"negative is default", backoff.Retry{Resync: -1, JitterFactor: -1}, backoff.Resync, 0, 60 * s, 90 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.shortest, tc.policy.Delay(tc.class, start, start.Add(tc.at), 0))
			assert.Equal(t, tc.longest, tc.policy.Delay(tc.class, start, start.Add(tc.at), 1))
		})
	}
}

// If the runtime does not answer and the error names no time, the delay is the backoff.
func TestRetry_B102_UnavailableWithoutATime(t *testing.T) {
	var p backoff.Retry
	assert.Equal(t, 10*time.Second, p.Delay(backoff.Unavailable, start, time.Time{}, 0))
	assert.Equal(t, time.Duration(0), p.Delay(backoff.RetryAt, start, time.Time{}, 0), "a time long past is now")
}

func TestRetry_I17_DelayWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := backoff.Retry{
			Resync:    time.Duration(rapid.Int64().Draw(t, "resync")),
			Backoff:   time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "backoff")),
			Transient: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "transient")),
		}
		resync := p.Resync
		if resync <= 0 {
			resync = backoff.DefaultResync
		}
		at := time.Duration(rapid.Int64().Draw(t, "at"))
		base := map[backoff.Class]time.Duration{
			backoff.Resync:      resync,
			backoff.Stable:      tenTimes(resync),
			backoff.Failed:      p.Backoff,
			backoff.Transient:   p.Transient,
			backoff.Unavailable: min(max(start.Add(at).Sub(start), 0), resync),
			backoff.RetryAt:     min(max(start.Add(at).Sub(start), 0), resync),
		}
		class := backoff.Class(rapid.IntRange(1, len(base)).Draw(t, "class"))
		random := rapid.Float64Range(0, 1).Draw(t, "random")

		got := p.Delay(class, start, start.Add(at), random)
		want := base[class]
		if got < want {
			t.Fatalf("%v: %v is shorter than %v", class, got, want)
		}
		if longest := float64(want) * 1.5; float64(got) > longest {
			t.Fatalf("%v: %v is longer than %v", class, got, longest)
		}
	})
}

func tenTimes(d time.Duration) time.Duration {
	if d > math.MaxInt64/10 {
		return math.MaxInt64
	}
	return 10 * d
}

func TestRetry_InvalidRandomNumberIsLimited(t *testing.T) {
	var p backoff.Retry
	for _, random := range []float64{-5, math.Inf(-1)} {
		assert.Equal(t, 10*time.Second, p.Delay(backoff.Failed, start, start, random))
	}
	for _, random := range []float64{5, math.Inf(1)} {
		assert.Equal(t, 15*time.Second, p.Delay(backoff.Failed, start, start, random))
	}
	for _, factor := range []float64{1, 10} { // Factor 1 adds slightly more than a Duration can hold.
		long := backoff.Retry{Resync: math.MaxInt64, JitterFactor: factor}
		assert.Equal(t, time.Duration(math.MaxInt64), long.Delay(backoff.Resync, start, start, 1))
	}
}

func TestClass_NamesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for o := backoff.Resync; o <= backoff.Unavailable+1; o++ {
		assert.False(t, seen[o.String()], o.String())
		seen[o.String()] = true
	}
}

// TestRetry_AfterTransients: the delay of transient errors doubles up to the backoff; no other delay
// changes.
func TestRetry_AfterTransients(t *testing.T) {
	delays := func(p backoff.Retry, class backoff.Class) (all []time.Duration) {
		for before := range 6 {
			all = append(all, p.AfterTransients(before).Delay(class, time.Time{}, time.Time{}, 0)/time.Second)
		}
		return all
	}
	assert.Equal(t, []time.Duration{1, 2, 4, 8, 10, 10}, delays(backoff.Retry{}, backoff.Transient))
	assert.Equal(t, []time.Duration{10, 10, 10, 10, 10, 10}, delays(backoff.Retry{}, backoff.Failed))
	assert.Equal(t, []time.Duration{60, 60, 60, 60, 60, 60}, delays(backoff.Retry{}, backoff.Resync))
	assert.Equal(t, []time.Duration{3, 6, 7, 7, 7, 7}, delays(backoff.Retry{Transient: 3 * time.Second, Backoff: 7 * time.Second}, backoff.Transient))
	long := backoff.Retry{Transient: 20 * time.Second}
	assert.Equal(t, []time.Duration{20, 20, 20, 20, 20, 20}, delays(long, backoff.Transient), "longer than the backoff")
	for _, before := range []int{math.MinInt, -1, 0} {
		assert.Equal(t, time.Second, backoff.Retry{}.AfterTransients(before).Delay(backoff.Transient, time.Time{}, time.Time{}, 0), "no error before")
	}
	patient := backoff.Retry{Transient: 1, Backoff: math.MaxInt64}
	for _, before := range []int{63, 64, math.MaxInt} {
		assert.Equal(t, time.Duration(math.MaxInt64), patient.AfterTransients(before).Delay(backoff.Transient, time.Time{}, time.Time{}, 0), "as long as a Duration can be")
	}
	assert.Equal(t, time.Duration(1)<<62, patient.AfterTransients(62).Delay(backoff.Transient, time.Time{}, time.Time{}, 0))
}
