package node

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime/memory"
)

// TestNode_HousekeepingForgets: after the removal of a pod the node has no worker, history or probes of
// it, even if a late event about the pod arrives.
func TestNode_HousekeepingForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n, err := New(Config{Runtime: machine})
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { assert.NoError(t, n.Run(ctx)) })
		defer over.Wait()
		defer end()

		web := &v1.Pod{}
		web.Name, web.Namespace, web.UID = "web", "default", "web"
		web.Spec.Containers = []v1.Container{{Name: "c", Image: "img:1", ReadinessProbe: &v1.Probe{
			ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}},
		}}}
		late := func() {
			n.prober.AddPod(web)
			n.prober.Observe("web", prober.Observed{Containers: []prober.Container{{Name: "c", ID: "late", Running: true, StartedAt: time.Now()}}})
		}
		for range 2 {
			require.NoError(t, n.Apply(web))
			time.Sleep(time.Minute)
			require.Len(t, machine.Snapshot(), 1)
			assert.Equal(t, uint64(1), machine.Snapshot()[0].Sandboxes[0].Incarnation)
			_, known := n.Explain("web")
			assert.True(t, known)
			n.Delete("web")
			time.Sleep(30 * time.Second)
			late()
			n.loop.RequestHousekeeping()
			time.Sleep(time.Minute)
			require.Empty(t, machine.Snapshot())
			_, due := n.prober.Next()
			assert.False(t, due)
			assert.Empty(t, n.journal.history.mu.pods)
		}
	})
}
