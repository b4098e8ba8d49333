package verdict_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

func TestFromProbe_F026_Defaults(t *testing.T) {
	def := verdict.Spec{Period: 10 * time.Second, Timeout: time.Second, Successes: 1, Failures: 3}
	assert.Equal(t, def, verdict.FromProbe(&v1.Probe{}))
	assert.Equal(t, def, verdict.FromProbe(&v1.Probe{
		InitialDelaySeconds: -1, PeriodSeconds: -1, TimeoutSeconds: -1, SuccessThreshold: -1, FailureThreshold: -1,
	}))
	most := int32(math.MaxInt32)
	long := math.MaxInt32 * time.Second
	assert.Equal(t, verdict.Spec{InitialDelay: long, Period: long, Timeout: long, Successes: most, Failures: most},
		verdict.FromProbe(&v1.Probe{
			InitialDelaySeconds: most, PeriodSeconds: most, TimeoutSeconds: most, SuccessThreshold: most, FailureThreshold: most,
		}))
}

func TestStrings(t *testing.T) {
	assert.Equal(t, "Liveness Readiness Startup Unknown", verdict.Liveness.String()+" "+verdict.Readiness.String()+" "+verdict.Startup.String()+" "+verdict.Kind(verdict.Kinds).String())
	assert.Equal(t, "Unknown Success Failure Unknown", verdict.Unknown.String()+" "+verdict.Success.String()+" "+verdict.Failure.String()+" "+verdict.Value(9).String())
}

// Outcomes of an attempt in another container, or of none, change nothing.
func TestFinish_LateOutcomes(t *testing.T) {
	c := verdict.Make(epoch)
	c.AddProbe(verdict.Liveness, verdict.Spec{Period: time.Second, Successes: 1, Failures: 1}, 0, epoch)
	c.Observe(verdict.Facts{ID: "a", Running: true, StartedAt: epoch}, epoch, nil)
	c.BeginAttempt(verdict.Liveness, epoch)
	old := c.Generation()
	c.Observe(verdict.Facts{ID: "b", Running: true, StartedAt: epoch}, epoch, nil)
	c.BeginAttempt(verdict.Liveness, epoch)
	before := c
	assert.Empty(t, c.FinishAttempt(verdict.Liveness, old, verdict.Failure, epoch, nil))
	assert.Equal(t, before, c)
	c.AbandonAttempt(verdict.Liveness)
	assert.Empty(t, c.FinishAttempt(verdict.Liveness, c.Generation(), verdict.Failure, epoch, nil))
	assert.Equal(t, verdict.Success, c.Value(verdict.Liveness, "b"))
}

// In any sequence of calls: no probe is due before its initial delay, each tick is later than the one
// before, the gate of the startup probe holds, and no Change repeats the verdict.
func TestContainer_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := verdict.Make(epoch)
		specs := map[verdict.Kind]verdict.Spec{}
		for k := verdict.Kind(0); k < verdict.Kinds; k++ {
			if rapid.Bool().Draw(t, "exists") {
				s := verdict.Spec{
					InitialDelay: time.Duration(rapid.IntRange(0, 20).Draw(t, "delay")) * time.Second,
					Period:       time.Duration(rapid.IntRange(1, 20).Draw(t, "period")) * time.Second,
					Successes:    rapid.Int32Range(1, 3).Draw(t, "successes"), Failures: rapid.Int32Range(1, 3).Draw(t, "failures"),
				}
				specs[k] = s
				c.AddProbe(k, s, rapid.Float64Range(0, 0.999).Draw(t, "spread"), epoch)
			}
		}
		now, since, id, running := epoch, epoch, "", false
		told := map[verdict.Kind]verdict.Value{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond)
			k := verdict.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
			var changes []verdict.Change
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				f := verdict.Facts{ID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id"), Running: rapid.Bool().Draw(t, "running")}
				if f.ID != id || f.Running && !running {
					since, told = now, map[verdict.Kind]verdict.Value{}
				}
				f.StartedAt = since
				id, running = f.ID, f.Running
				changes = c.Observe(f, now, nil)
			case 1:
				changes = c.StopLivenessAndStartup(nil)
			case 2:
				c.MakeReadinessDue(now)
			case 3:
				c.SkipMissedTicks(now)
			default:
				due, ok := c.Due(k)
				if !ok || due.After(now) {
					continue
				}
				assert.True(t, running)
				assert.False(t, now.Before(since.Add(specs[k].InitialDelay)))
				assert.True(t, k == verdict.Startup || c.Started(id))
				c.BeginAttempt(k, now)
				_, again := c.Due(k)
				assert.False(t, again, "one attempt at a time")
				changes = c.FinishAttempt(k, c.Generation(), verdict.Value(rapid.IntRange(0, 2).Draw(t, "outcome")), now, nil)
				if due, ok := c.Due(k); ok {
					assert.True(t, due.After(now))
					assert.False(t, due.After(now.Add(specs[k].Period)))
				}
			}
			for _, ch := range changes {
				assert.Equal(t, id, ch.ID)
				assert.Contains(t, specs, ch.Kind)
				assert.NotEqual(t, told[ch.Kind], ch.Value)
				told[ch.Kind] = ch.Value
			}
		}
	})
}
