package workqueue_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/workqueue"
)

func ExamplePolicy_Delay() {
	var kubelet workqueue.Policy
	fmt.Println(kubelet.Delay(workqueue.Succeeded, start, time.Time{}, 0.5))
	fmt.Println(kubelet.Delay(workqueue.BackedOff, start, start.Add(20*time.Second), 0))
	// Output:
	// 1m15s
	// 20s
}

func TestPolicy_B098toB102_KubeletNumbers(t *testing.T) {
	const s = time.Second
	var p workqueue.Policy
	own := workqueue.Policy{Resync: 8 * s, Backoff: 4 * s, Transient: 2 * s, JitterFactor: 1}
	for _, tc := range []struct {
		name    string
		policy  workqueue.Policy
		outcome workqueue.Outcome
		at      time.Duration
		shortest,
		longest time.Duration // random 0, and random 1
	}{
		{"B098 transition", p, workqueue.Transitioned, 99 * s, 0, 0},
		{"B099 success", p, workqueue.Succeeded, 5 * s, 60 * s, 90 * s},
		{"B100 transient", p, workqueue.FailedTransiently, 0, s, 1500 * time.Millisecond},
		{"B101 expiry", p, workqueue.BackedOff, 20 * s, 20 * s, 30 * s},
		{"B101 expiry past", p, workqueue.BackedOff, -s, 0, 0},
		{"B101 expiry beyond resync", p, workqueue.BackedOff, 300 * s, 60 * s, 90 * s},
		{"B102 error", p, workqueue.Failed, 0, 10 * s, 15 * s},
		{"B102 unheard-of outcome", p, workqueue.Outcome(99), 0, 10 * s, 15 * s},
		{"own success", own, workqueue.Succeeded, 0, 8 * s, 16 * s},
		{"own error", own, workqueue.Failed, 0, 4 * s, 8 * s},
		{"own transient", own, workqueue.FailedTransiently, 0, 2 * s, 4 * s},
		{"own expiry beyond resync", own, workqueue.BackedOff, 300 * s, 8 * s, 16 * s},
		{"negative is default", workqueue.Policy{Resync: -1, JitterFactor: -1}, workqueue.Succeeded, 0, 60 * s, 90 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.shortest, tc.policy.Delay(tc.outcome, start, start.Add(tc.at), 0))
			assert.Equal(t, tc.longest, tc.policy.Delay(tc.outcome, start, start.Add(tc.at), 1))
		})
	}
}

func TestPolicy_I17_DelayWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := workqueue.Policy{
			Resync:    time.Duration(rapid.Int64().Draw(t, "resync")),
			Backoff:   time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "backoff")),
			Transient: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "transient")),
		}
		resync := p.Resync
		if resync <= 0 {
			resync = workqueue.DefaultResync
		}
		at := time.Duration(rapid.Int64().Draw(t, "at"))
		base := map[workqueue.Outcome]time.Duration{
			workqueue.Succeeded:         resync,
			workqueue.Transitioned:      0,
			workqueue.Failed:            p.Backoff,
			workqueue.FailedTransiently: p.Transient,
			workqueue.BackedOff:         min(max(start.Add(at).Sub(start), 0), resync),
		}
		outcome := workqueue.Outcome(rapid.IntRange(0, len(base)-1).Draw(t, "outcome"))
		random := rapid.Float64Range(0, 1).Draw(t, "random")

		got := p.Delay(outcome, start, start.Add(at), random)
		want := base[outcome]
		if got < want {
			t.Fatalf("%v: %v is shorter than %v", outcome, got, want)
		}
		if longest := float64(want) * 1.5; float64(got) > longest {
			t.Fatalf("%v: %v is longer than %v", outcome, got, longest)
		}
	})
}

func TestPolicy_NonsenseFromChanceIsKeptWithinBounds(t *testing.T) {
	var p workqueue.Policy
	for _, random := range []float64{-5, math.Inf(-1)} {
		assert.Equal(t, 10*time.Second, p.Delay(workqueue.Failed, start, start, random))
	}
	for _, random := range []float64{5, math.Inf(1)} {
		assert.Equal(t, 15*time.Second, p.Delay(workqueue.Failed, start, start, random))
	}
	long := workqueue.Policy{Resync: math.MaxInt64, JitterFactor: 10}
	assert.Equal(t, time.Duration(math.MaxInt64), long.Delay(workqueue.Succeeded, start, start, 1))
}

func TestOutcome_NamesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for o := workqueue.Succeeded; o <= workqueue.BackedOff+1; o++ {
		assert.False(t, seen[o.String()], o.String())
		seen[o.String()] = true
	}
}

// TestPolicy_Rising: the delay of what seems to pass soon doubles up to the backoff;
// no other delay changes.
func TestPolicy_Rising(t *testing.T) {
	delays := func(p workqueue.Policy, outcome workqueue.Outcome) (all []time.Duration) {
		for before := range 6 {
			all = append(all, p.Rising(before).Delay(outcome, time.Time{}, time.Time{}, 0)/time.Second)
		}
		return all
	}
	assert.Equal(t, []time.Duration{1, 2, 4, 8, 10, 10}, delays(workqueue.Policy{}, workqueue.FailedTransiently))
	assert.Equal(t, []time.Duration{10, 10, 10, 10, 10, 10}, delays(workqueue.Policy{}, workqueue.Failed))
	assert.Equal(t, []time.Duration{60, 60, 60, 60, 60, 60}, delays(workqueue.Policy{}, workqueue.Succeeded))
	assert.Equal(t, []time.Duration{3, 6, 7, 7, 7, 7}, delays(workqueue.Policy{Transient: 3 * time.Second, Backoff: 7 * time.Second}, workqueue.FailedTransiently))
	long := workqueue.Policy{Transient: 20 * time.Second}
	assert.Equal(t, []time.Duration{20, 20, 20, 20, 20, 20}, delays(long, workqueue.FailedTransiently), "longer than the backoff")
	assert.Equal(t, workqueue.Policy{}, workqueue.Policy{}.Rising(-1))
}
