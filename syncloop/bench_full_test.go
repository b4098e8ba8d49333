package syncloop_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

// BenchmarkFull measures the loop when one pod terminates on a full node with 100 pods and waiting pods: the
// first waiting pod is admitted, and a new pod arrives.
func BenchmarkFull(b *testing.B) {
	for _, count := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint("waiting=", count), func(b *testing.B) {
			f := newFull(b, count)
			b.ReportAllocs()
			for b.Loop() {
				f.terminateOldest()
			}
		})
	}
}

// full is a node with 100 cpus, all in use by pods of one cpu, and pods that wait for cpus.
type full struct {
	testing.TB
	*syncloop.Handlers
	workers *workers
	came    int
	ended   int
	asked   int // questions to the last handler but one
}

func newFull(t testing.TB, waiting int) *full {
	w := newHarness()
	f := &full{TB: t, workers: w.workers}
	var err error
	f.Handlers, err = syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources, WhenFull: syncloop.Wait,
		Admit: []syncloop.PodAdmitHandler{
			syncloop.AdmitNames(), syncloop.AdmitPodCount(1 << 20), syncloop.AdmitHostPorts(), syncloop.AdmitNodeName("n"),
			syncloop.PodAdmitAloneFunc(func(syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
				f.asked++
				return syncloop.PodAdmitResult{Admit: true}
			}),
			syncloop.AdmitResources(parseResources("cpu=100 memory=1Ti")),
		},
	})
	require.NoError(t, err)
	w.handlers = f.Handlers
	pods := make([]*v1.Pod, 100+waiting)
	for i := range pods {
		pods[i] = f.newPod()
	}
	f.HandlePodAdditions(context.Background(), pods)
	f.HandleWaiting(context.Background())
	return f
}

// newPod returns a new pod.
func (f *full) newPod() *v1.Pod {
	p := podRequesting(fmt.Sprint("p", f.came), "cpu=1 memory=1Ki")
	p.UID = types.UID(p.Name)
	f.came++
	return p
}

// terminateOldest terminates the oldest pod as a node does: the pod is removed, it stops, and a new pod arrives.
func (f *full) terminateOldest() {
	ctx, uid := context.Background(), types.UID(fmt.Sprint("p", f.ended))
	f.workers.performWork(uid, lifecycle.Completed)
	f.HandleWaiting(ctx)
	f.workers.performWork(uid, lifecycle.Succeeded)
	f.HandleWaiting(ctx)
	f.HandlePodAdditions(ctx, []*v1.Pod{f.newPod()})
	f.HandleWaiting(ctx)
	f.workers.takeCalls()
	f.ended++
	require.True(f, f.workers.View(types.UID(fmt.Sprint("p", f.ended+99))).Known, "the first of those that waited")
}

// TestFull_AsksOnlyAboutPodsThatMayFit: the number of questions after the end of one pod does not depend on the number of
// waiting pods behind the pods that now fit.
func TestFull_AsksOnlyAboutPodsThatMayFit(t *testing.T) {
	questions := func(waiting int) int {
		f := newFull(t, waiting)
		f.asked = 0
		for range 10 {
			f.terminateOldest()
		}
		return f.asked
	}
	assert.Equal(t, questions(20), questions(200))
}
