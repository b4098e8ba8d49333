package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// TestCluster_RestoredAfterADeletion: a pod is deleted with force after a backup of etcd was made.
// The server crashes, and the backup is restored while the node still stops the pod. The node must
// not write to the restored pod how the deleted pod has ended, and must not delete the restored pod:
// the pod runs again. In the second half of the cases the server crashes between the two steps of
// the removal.
func TestCluster_RestoredAfterADeletion(t *testing.T) {
	step := 3 * time.Second / time.Duration(longtest.Count(12, 170))
	for _, cut := range []int{0, 1} {
		for _, outage := range []time.Duration{300 * time.Millisecond, 2500 * time.Millisecond} {
			for until := time.Duration(0); until < 3*time.Second; until += step {
				h := simulate(t, 1)
				rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
					{Verb: faulty.StopContainer, Latency: time.Second}, {Verb: faulty.RemoveSandbox, Latency: time.Second},
				}})
				require.NoError(t, err)
				h.runtime = rules.Wrap(h.machine, h.NewProcess().Clock())
				h.bind("kept")
				h.bind("removed")
				h.start()
				h.after(5 * time.Second)
				require.Equal(t, v1.PodRunning, h.phase("removed"))
				restore := h.server.Backup()
				for i := range 30 {
					require.NoError(t, h.server.Admin().EditPod("default", "kept", func(p *v1.Pod) { p.Labels = map[string]string{"at": fmt.Sprint(i)} }))
				}
				h.server.Inject(apiservertest.Fault{Latency: 3 * time.Millisecond})
				h.server.CutRemovals(cut)
				_ = h.server.Admin().Delete(h.Context(), h.server.Admin().Pod("default", "removed"), new(int64(0)))
				h.after(until)
				h.server.Crash()
				h.after(outage)
				restore()
				h.server.Recover()
				h.after(time.Minute)
				when := fmt.Sprintf("the server crashes %s after the deletion, for %s, with %d cut removals", until, outage, cut)
				assert.Equal(t, v1.PodRunning, h.phase("removed"), when)
				assert.Contains(t, h.running(), "removed/c", when)
				assert.Contains(t, h.running(), "kept/c attempt 0", when)
				h.crash()
			}
		}
	}
}
