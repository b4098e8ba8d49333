package command

import (
	"context"
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

// TestEviction_Defaults: without flags the node evicts nothing. --eviction-hard=default has the kubelet's thresholds,
// and an empty one has none.
func TestEviction_Defaults(t *testing.T) {
	var e Eviction
	var c node.Config
	require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
	assert.Nil(t, c.Eviction.Signals)
	require.NoError(t, e.SetHard("default"))
	require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
	want, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
	require.NoError(t, err)
	assert.Equal(t, want, c.Eviction.Policy.Thresholds)
	require.NoError(t, e.SetHard(""))
	require.NoError(t, e.Configure(&c, t.TempDir(), imageDisk{}))
	assert.Empty(t, c.Eviction.Policy.Thresholds)
	assert.NotNil(t, c.Eviction.Signals)
	assert.NotNil(t, c.Eviction.Storage)
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
	for _, fault := range []error{e.SetHard("memory.available=1"), e.SetHard("memory<1"), e.SetSoft("x"), e.SetTransitionPeriod("-1s"), e.SetMaxPodGrace("x")} {
		assert.Error(t, fault)
	}
}
