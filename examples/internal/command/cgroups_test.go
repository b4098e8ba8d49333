package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPodCgroups_Flags(t *testing.T) {
	var p PodCgroups
	assert.NoError(t, p.SetPerQOS("false"))
	assert.True(t, p.Off)
	assert.NoError(t, p.SetPerQOS("true"))
	assert.False(t, p.Off)
	assert.EqualError(t, p.SetPerQOS("maybe"), "expected true or false")
	for text, want := range map[string]int64{"-1": 0, "7": 7} {
		assert.NoError(t, p.SetMaxPIDs(text))
		assert.Equal(t, want, p.MaxPIDs)
	}
	for _, text := range []string{"0", "-2", "x", "9223372036854775808"} {
		assert.EqualError(t, p.SetMaxPIDs(text), "expected a number of at least 1, or -1")
	}
	for _, text := range []string{"cgroupfs", "systemd", ""} {
		assert.NoError(t, p.SetDriver(text))
		assert.Equal(t, text, p.Driver)
	}
	assert.NoError(t, p.SetDriver("cgroupfs"))
	for _, text := range []string{"Systemd", "cgroupfs ", "none"} {
		assert.EqualError(t, p.SetDriver(text), "expected cgroupfs or systemd")
	}
	assert.Equal(t, "cgroupfs", p.Driver)
}
