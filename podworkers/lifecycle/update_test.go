package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// TestUpdate_B003_InvalidUpdates: an invalid update is an error. It has no ticket and no effect.
func TestUpdate_B003_InvalidUpdates(t *testing.T) {
	for name, u := range map[string]lifecycle.Update{
		"neither":                {UID: "a"},
		"neither, kill":          {UID: "a", Type: lifecycle.SyncPodKill},
		"no UID":                 {Subject: lifecycle.ConfigPod},
		"no UID, runtime":        {Subject: lifecycle.RuntimePod, Type: lifecycle.SyncPodKill},
		"unknown type":           {UID: "a", Subject: lifecycle.ConfigPod, Type: 17},
		"unknown subject":        {UID: "a", Subject: 17},
		"static without a name":  {UID: "a", Subject: lifecycle.ConfigPod, Facts: lifecycle.Facts{Static: true}},
		"nothing at all, really": {},
	} {
		t.Run(name, func(t *testing.T) {
			table := lifecycle.New()
			var out lifecycle.Effects
			_, err := table.Update(u, &out)
			require.ErrorIs(t, err, lifecycle.ErrInvalid)
			if name != "unknown type" { // Kill sets the type
				a, err := table.Kill(u, &out)
				require.ErrorIs(t, err, lifecycle.ErrInvalid)
				assert.Zero(t, a)
			}
			assert.Empty(t, out)
			assert.Zero(t, table.Len())
			assert.Zero(t, table.Generation())
		})
	}
}

// TestUpdate_B012_RuntimeFacts: facts in an update of a running pod are ignored, because the
// runtime does not know the desired state.
func TestUpdate_B012_RuntimeFacts(t *testing.T) {
	table := lifecycle.New()
	var out lifecycle.Effects
	_, err := table.Update(lifecycle.Update{
		UID: "a", Type: lifecycle.SyncPodKill, Subject: lifecycle.RuntimePod, Runtime: lifecycle.RuntimeStopped,
		Kill: lifecycle.KillOptions{Grace: lifecycle.Seconds(9)},
		Facts: lifecycle.Facts{
			TerminalPhase: true, Static: true, FullName: "web", Source: "api",
			SpecGrace: lifecycle.Seconds(30), DeletionGrace: lifecycle.Seconds(3),
		},
	}, &out)
	require.NoError(t, err)
	v := table.View("a")
	assert.Equal(t, lifecycle.Terminating, v.Phase())
	assert.False(t, v.Static)
	assert.Equal(t, lifecycle.Seconds(9), v.Grace)
	assert.Empty(t, table.Sources())
}

// TestSyncPodType_String: String returns the kubelet's names, and "unknown" for other values.
func TestSyncPodType_String(t *testing.T) {
	var got []string
	for i := range lifecycle.SyncPodType(5) {
		got = append(got, i.String())
	}
	assert.Equal(t, []string{"sync", "update", "create", "kill", "unknown"}, got)
}

// TestNames: no two values of an enum have the same name.
func TestNames(t *testing.T) {
	requireDistinctNames(t, lifecycle.Syncing, lifecycle.Finished+1)
	requireDistinctNames(t, lifecycle.StageSyncing, lifecycle.StageFinished+1)
	requireDistinctNames(t, lifecycle.Ignored, lifecycle.Queued+1)
	requireDistinctNames(t, lifecycle.OpWake, lifecycle.OpCompare+1)
	requireDistinctNames(t, lifecycle.Stopped, lifecycle.Abandoned+1)
	requireDistinctNames(t, lifecycle.SyncPod, lifecycle.SyncTerminatedPod+1)
	requireDistinctNames(t, lifecycle.RuntimeStopped, lifecycle.RuntimeRunning+1)
	requireDistinctNames(t, lifecycle.Succeeded, lifecycle.FailedRuntimeUnavailable+1)
}

func requireDistinctNames[E interface {
	~uint8
	String() string
}](t *testing.T, first, end E) {
	t.Helper()
	seen := map[string]bool{}
	for e := E(0); e < first; e++ {
		assert.Equal(t, "unknown", e.String(), "%T 0 is none of them", e)
	}
	for e := first; e <= end; e++ {
		assert.NotEmpty(t, e.String())
		assert.False(t, seen[e.String()], "%T %s", e, e)
		assert.Equal(t, e == end, e.String() == "unknown")
		seen[e.String()] = true
	}
}

// TestRef: a Ref is valid until its record is forgotten, and stays stale even if another pod gets
// the same index.
func TestRef(t *testing.T) {
	table := lifecycle.New()
	var out lifecycle.Effects
	first, err := table.Update(lifecycle.Update{UID: "a", Subject: lifecycle.ConfigPod}, &out)
	require.NoError(t, err)
	require.NotZero(t, first.Ref)
	table.SyncKnown(lifecycle.DesiredSnapshot{Generation: table.Generation()}, nil, &out)
	require.Zero(t, table.Len())

	second, err := table.Update(lifecycle.Update{UID: "b", Subject: lifecycle.ConfigPod}, &out)
	require.NoError(t, err)
	assert.Equal(t, first.Ref.Index(), second.Ref.Index(), "the record is used again")
	for _, stale := range []lifecycle.Ref{first.Ref, {}} {
		_, ok := table.StartPodSync(stale)
		assert.False(t, ok)
	}
	w, ok := table.StartPodSync(second.Ref)
	require.True(t, ok)
	assert.Equal(t, types.UID("b"), w.UID)
	assert.False(t, table.Done(first.Ref, w.Incarnation, lifecycle.Completed, &out), "B-117: the ref of another life")
	assert.False(t, table.Done(second.Ref, w.Incarnation+1, lifecycle.Completed, &out))
	assert.True(t, table.Done(second.Ref, w.Incarnation, lifecycle.Succeeded, &out))
	assert.False(t, table.Done(second.Ref, w.Incarnation, lifecycle.Succeeded, &out), "twice")
}

// TestAllocs: calls about known pods, and housekeeping, allocate nothing.
func TestAllocs(t *testing.T) {
	table, list := lifecycle.New(), makeUIDs(200)
	var out lifecycle.Effects
	var states []lifecycle.PodState
	known := lifecycle.DesiredSnapshot{Desired: list, AllSources: true, ExcludedSources: []string{"file"}}
	round := func() {
		for i, uid := range list {
			out = out[:0]
			u := plainUpdate(uid)
			u.Type, u.Facts.Static = lifecycle.SyncPodCreate, i%2 == 0
			u.Facts.FullName = string(uid)
			a, _ := table.Update(u, &out)
			for range 3 {
				w, _ := table.StartPodSync(a.Ref)
				_, _ = table.Kill(u, &out)
				table.Done(a.Ref, w.Incarnation, lifecycle.Succeeded, &out)
			}
		}
		out = out[:0]
		known.Generation = table.Generation()
		states = table.SyncKnown(known, states[:0], &out)
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(10, round))
}

// TestResolution_IsStopped: IsStopped is true if the containers are known to be stopped, or never existed.
// It is false for a kill that was refused or abandoned.
func TestResolution_IsStopped(t *testing.T) {
	for o, want := range map[lifecycle.Resolution]bool{
		lifecycle.Stopped: true, lifecycle.AlreadyStopped: true, lifecycle.NeverStarted: true,
		lifecycle.PodDesired: false, lifecycle.Abandoned: false, 0: false,
	} {
		assert.Equal(t, want, o.IsStopped(), o.String())
	}
}
