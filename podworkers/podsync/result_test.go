package podsync_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/faulty"
)

// RS-14, SP-12: each thing that is done has a result of its kind, with its error and
// how long it took, and the error of the sync is theirs.
func TestResult_RS14_SP12(t *testing.T) {
	st := newStory(t)
	st.pod = plainPod()
	var did []podsync.Result
	var err error
	st.syncer, err = podsync.New(podsync.Config{
		Runtime: st.tap, Status: st.store, Clock: st.b.p.Clock(),
		Hooks: podsync.Hooks{ActionDone: func(r podsync.Result) { did = append(did, r) }},
	})
	require.NoError(t, err)
	for _, rule := range []faulty.Rule{
		{Verb: faulty.RunSandbox, Latency: 3 * time.Second},
		{Verb: faulty.CreateContainer, Latency: 2 * time.Second, Do: faulty.Fail, Times: 1},
	} {
		_, err := st.faults.Add(rule)
		require.NoError(t, err)
	}
	call := func(verb string) []podsync.Result {
		did = nil
		st.observePod()
		st.b.runCall(func() { _, err = st.invokeSyncer(context.Background(), verb, nil, nil) })
		return did
	}
	results := call("sync")
	require.ErrorIs(t, err, podstatus.ReasonCreateContainerError)
	require.Len(t, results, 2)
	assert.Equal(t, podsync.Result{UID: "u", Action: podsync.CreatePodSandbox, Target: "web", Why: "no sandbox", Took: 3 * time.Second}, results[0])
	require.ErrorIs(t, results[1].Err, podstatus.ReasonCreateContainerError)
	require.ErrorIs(t, err, results[1].Err)
	results[1].Err = nil
	assert.Equal(t, podsync.Result{UID: "u", Action: podsync.StartContainer, Target: "a", Why: "sandbox is new", Took: 2 * time.Second}, results[1])

	require.Len(t, call("sync"), 1)
	require.NoError(t, err)
	results = call("terminate")
	require.NoError(t, err)
	require.Len(t, results, 2)
	assert.Equal(t, podsync.Result{UID: "u", Action: podsync.KillContainer, Target: "a", Why: "the pod ends"}, results[0])
	assert.Equal(t, podsync.KillPodSandbox, results[1].Action)
	assert.Equal(t, st.last.Sandboxes[0].ID, results[1].Target)
}
