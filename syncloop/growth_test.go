package syncloop_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

// counted counts the calls of View.
type counted struct {
	*workers
	views int
}

func (c *counted) View(uid types.UID) lifecycle.View {
	c.views++
	return c.workers.View(uid)
}

// makePods returns n pods that each claim something of every resource.
func makePods(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	for i := range pods {
		p := podRequesting(fmt.Sprint("p", i), "cpu=1m memory=1Ki example.com/gpu=1")
		p.UID = types.UID(p.Name)
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(1 + i)}}
		pods[i] = p
	}
	return pods
}

// newFullHandlers returns handlers of a node on which all pods fit.
func newFullHandlers(t testing.TB) (*syncloop.Handlers, *counted) {
	w := newHarness()
	c := &counted{workers: w.workers}
	h, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: c, Status: w.status, Runtime: w, Sources: w.sources,
		Admit: []syncloop.PodAdmitHandler{
			syncloop.AdmitNames(), syncloop.AdmitPodCount(1 << 20), syncloop.AdmitHostPorts(),
			syncloop.AdmitResources(parseResources("cpu=1M memory=1Ti pods=1M example.com/gpu=1M")),
			syncloop.PodAdmitFunc(func(syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
				return syncloop.PodAdmitResult{Admit: true} // It is given the list of all others.
			}),
		},
	})
	require.NoError(t, err)
	w.handlers = h
	return h, c
}

// measureAdmission returns the cost of admitting n pods, together or one after the other, in calls of View and in
// bytes.
func measureAdmission(t *testing.T, n int, together bool) (views int, bytes uint64) {
	h, c := newFullHandlers(t)
	pods := makePods(n)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	if together {
		h.HandlePodAdditions(context.Background(), pods)
	} else {
		for i := range pods {
			h.HandlePodAdditions(context.Background(), pods[i:i+1])
			h.HandleWaiting(context.Background())
		}
	}
	goruntime.ReadMemStats(&after)
	for i := range pods {
		require.True(t, c.workers.View(pods[i].UID).Known)
	}
	return c.views, after.TotalAlloc - before.TotalAlloc
}

// TestAdmission_WorkGrowsWithThePodsAndNotWithTheirSquare: ten times as many pods cost ten times as much.
// Quadratic work would cost a hundred times as much.
func TestAdmission_WorkGrowsWithThePodsAndNotWithTheirSquare(t *testing.T) {
	for _, together := range []bool{true, false} {
		views, bytes := measureAdmission(t, 300, together)
		moreViews, moreBytes := measureAdmission(t, 3000, together)
		assert.Less(t, float64(moreViews)/float64(views), 12.0, "together: %t", together)
		assert.Less(t, float64(moreBytes)/float64(bytes), 15.0, "together: %t", together)
	}
}

// BenchmarkAdmission admits 10,000 pods on a node that checks everything.
func BenchmarkAdmission(b *testing.B) {
	pods := makePods(10_000)
	for b.Loop() {
		h, _ := newFullHandlers(b)
		h.HandlePodAdditions(context.Background(), pods)
	}
}
