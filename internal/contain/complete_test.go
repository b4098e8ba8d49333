package contain_test

import (
	"testing"
	"time"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// TestCheckConfig: every fault is reported, in the order of the checks.
func TestCheckConfig(t *testing.T) {
	done := contain.CheckConfig("a: Config")
	done.MissingIf(true, "Sink")
	done.MissingIf(false, "Store")
	period, limit := -time.Second, 3
	contain.DefaultNumber(done, "Period", &period, time.Minute)
	contain.DefaultNumber(done, "Limit", &limit, 8)
	done.FaultIf(true, "Name is too long")
	done.AddError(assert.AnError)
	require.EqualError(t, done.Err(), "a: Config.Sink is missing\na: Config.Period is negative\na: Config.Name is too long\n"+assert.AnError.Error())
	assert.ErrorIs(t, done.Err(), assert.AnError)
	assert.Equal(t, -time.Second, period)
	assert.Equal(t, 3, limit)
}

// TestCheckConfig_Defaults: a zero field gets its default, and there is no fault.
func TestCheckConfig_Defaults(t *testing.T) {
	done := contain.CheckConfig("a: Config")
	done.AddError(nil)
	var limit int
	contain.DefaultNumber(done, "Limit", &limit, 8)
	assert.Equal(t, 8, limit)
	require.NoError(t, done.Err())
}

// TestSetDefault: functions and interfaces have defaults as well, and a field that is set stays.
func TestSetDefault(t *testing.T) {
	var hook func() bool
	contain.SetDefault(&hook, func() bool { return true })
	assert.True(t, hook())
	contain.SetDefault(&hook, func() bool { return false })
	assert.True(t, hook(), "it was set")

	var clk clock.PassiveClock
	contain.SetDefault[clock.PassiveClock](&clk, clock.RealClock{})
	assert.Equal(t, clock.RealClock{}, clk)
	fake := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	clk = fake
	contain.SetDefault[clock.PassiveClock](&clk, clock.RealClock{})
	assert.Same(t, fake, clk)
}
