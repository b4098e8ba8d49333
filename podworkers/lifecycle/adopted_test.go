package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// TestUpdate_B065_I34_RunningBefore: a static pod that must terminate before its first sync needs
// no call of the syncer (B-065), unless its containers run already because an earlier agent started
// them. Then they must be stopped. The same holds for any other pod that is not desired.
func TestUpdate_B065_I34_RunningBefore(t *testing.T) {
	for state, running := range map[lifecycle.RuntimeState]bool{lifecycle.RuntimeStopped: false, lifecycle.RuntimeRunning: true} {
		var out lifecycle.Effects
		table := lifecycle.New()
		u := lifecycle.Update{
			UID: "a", Type: lifecycle.SyncPodCreate, Subject: lifecycle.ConfigPod, Runtime: state,
			Facts: lifecycle.Facts{FullName: "a_ns", Static: true, SpecGrace: lifecycle.Seconds(20)},
		}
		accepted, err := table.Update(u, &out)
		require.NoError(t, err)
		_, err = table.Kill(u, &out)
		require.NoError(t, err)
		work, ok := table.StartPodSync(accepted.Ref)
		assert.Equal(t, running, ok)
		if running {
			assert.Equal(t, lifecycle.SyncTerminatingPod, work.Kind)
			assert.Equal(t, lifecycle.Seconds(20), work.Grace)
		}
		require.NoError(t, table.CheckInvariants())

		table, u.Facts.Static = lifecycle.New(), false
		_, err = table.Update(u, &out)
		require.NoError(t, err)
		states := table.SyncKnown(lifecycle.DesiredSnapshot{Desired: []types.UID{}, Generation: table.Generation(), AllSources: true}, nil, &out)
		assert.Equal(t, running, len(states) == 1, "forgotten only if there is nothing to stop")
		require.NoError(t, table.CheckInvariants())
	}
}
