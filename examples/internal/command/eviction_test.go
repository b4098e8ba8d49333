package command

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
)

// imageDisk is a runtime that returns the directory of its images.
type imageDisk struct{ directory string }

func (d imageDisk) ImageFilesystem(context.Context) (runtime.FilesystemUsage, error) {
	return runtime.FilesystemUsage{Directory: d.directory}, nil
}

// TestEviction_Defaults: without --eviction-hard the node has the kubelet's hard thresholds, also with soft ones.
// --eviction-hard=default names them, and an empty one has none.
func TestEviction_Defaults(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("no default on a system without measurements")
	}
	want, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
	require.NoError(t, err)
	soft := append(slices.Clone(want), eviction.Threshold{Signal: eviction.PIDAvailable, Value: amount(t, "100"), Grace: time.Minute})
	for _, test := range []struct {
		set  func(e *Eviction) error
		want []eviction.Threshold
	}{
		{func(*Eviction) error { return nil }, want},
		{func(e *Eviction) error { return e.SetHard("default") }, want},
		{func(e *Eviction) error { return e.SetHard("") }, nil},
		{func(e *Eviction) error {
			return errors.Join(e.SetSoft("pid.available<100"), e.SetSoftGracePeriod("pid.available=1m"))
		}, soft},
		{func(e *Eviction) error {
			return errors.Join(e.SetHard(""), e.SetSoft("pid.available<100"), e.SetSoftGracePeriod("pid.available=1m"))
		}, soft[len(soft)-1:]},
		{func(e *Eviction) error { return e.SetHard("memory.available<100Mi") }, want[:1]},
	} {
		var e Eviction
		var c node.Config
		require.NoError(t, test.set(&e))
		require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
		assert.Equal(t, test.want, c.Eviction.Policy.Thresholds)
		assert.NotNil(t, c.Eviction.Signals)
		assert.NotNil(t, c.Eviction.Storage)
	}
}

// TestEviction_HasThresholds: an empty --eviction-hard counts as set.
func TestEviction_HasThresholds(t *testing.T) {
	var none, empty, soft Eviction
	require.NoError(t, errors.Join(none.SetMaxPodGrace("5"), empty.SetHard(""), soft.SetSoft("pid.available<100")))
	assert.Equal(t, []bool{false, true, true}, []bool{none.HasThresholds(), empty.HasThresholds(), soft.HasThresholds()})
}

// TestEviction_WithoutImageDisk: images share the file system of the root.
func TestEviction_WithoutImageDisk(t *testing.T) {
	var e Eviction
	var c node.Config
	require.NoError(t, e.SetHard("default"))
	require.NoError(t, e.Configure(&c, t.TempDir(), nil))
	observed, err := c.Eviction.Signals.ReadSignals(t.Context())
	if goruntime.GOOS == "linux" {
		require.NoError(t, err)
	}
	assert.Equal(t, eviction.OneFilesystem, observed.Layout)
}

// amount returns the amount of a text.
func amount(t *testing.T, text string) eviction.Amount {
	a, err := eviction.ParseAmount(text)
	require.NoError(t, err)
	return a
}

// TestEviction_Flags: each flag sets its part of the policy.
func TestEviction_Flags(t *testing.T) {
	var e Eviction
	var c node.Config
	require.NoError(t, e.SetHard("memory.available<200Mi"))
	require.NoError(t, e.SetSoft("memory.available<1Gi"))
	require.ErrorContains(t, e.Configure(&c, t.TempDir(), imageDisk{}), "needs a grace period")
	require.NoError(t, e.SetSoftGracePeriod("memory.available=1m30s"))
	require.NoError(t, e.SetMinimumReclaim("memory.available=10Mi"))
	require.NoError(t, e.SetTransitionPeriod("30s"))
	require.NoError(t, e.SetMaxPodGrace("60"))
	require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
	p := c.Eviction.Policy
	require.Len(t, p.Thresholds, 2)
	assert.Equal(t, 90*time.Second, p.Thresholds[1].Grace)
	assert.EqualValues(t, 10<<20, p.Thresholds[0].MinReclaim.Of(0))
	assert.Equal(t, 30*time.Second, p.TransitionPeriod)
	assert.EqualValues(t, 60, p.MaxPodGraceSeconds)
	assert.Nil(t, c.Eviction.MemoryNotifier)
	require.NoError(t, e.SetKernelNotification("true"))
	require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
	assert.NotNil(t, c.Eviction.MemoryNotifier)
	for _, fault := range []error{e.SetKernelNotification("x"), e.SetHard("memory.available=1"), e.SetHard("memory<1"), e.SetSoft("x"), e.SetTransitionPeriod("-1s"), e.SetMaxPodGrace("x")} {
		assert.Error(t, fault)
	}
}
