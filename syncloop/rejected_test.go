package syncloop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop"
)

// The hook Rejected panics. The pod is rejected all the same, and the next one too.
func TestRejected_PanicIsContained(t *testing.T) {
	w := newHarness()
	var told, panicked []string
	h, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources,
		Admit: []syncloop.PodAdmitHandler{syncloop.PodAdmitAloneFunc(func(syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
			return syncloop.PodAdmitResult{Reason: "Unloved", Message: "nothing fits"}
		})},
		Rejected: func(pod *v1.Pod, reason, message string) {
			told = append(told, string(pod.UID)+" "+reason+": "+message)
			panic("boom")
		},
		Panicked: func(call string, _ error) { panicked = append(panicked, call) },
	})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		p := podRequesting(name, "cpu=1")
		p.UID = types.UID(name)
		h.HandlePodAdditions(t.Context(), []*v1.Pod{p})
		st, _ := w.status.GetPodStatus(p.UID)
		assert.Equal(t, v1.PodFailed, st.Phase)
	}
	assert.Equal(t, []string{"a Unloved: nothing fits", "b Unloved: nothing fits"}, told)
	assert.Equal(t, []string{"Rejected", "Rejected"}, panicked)
}
