//go:build unix

package node

import (
	"context"
	"fmt"
	"math"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
)

// BenchmarkFleet runs many nodes in one process, each with a runtime in memory, from the start of all their pods to the
// removal of all. It reports the time until all pods run, and the time until all are removed. It reports the memory of
// an idle node without pods, and the memory of an idle pod with its v1.Pod. It reports the processor time of the idle
// process over a minute, as a share of a core. That minute has no periodic sync of these pods: they are stable, so the
// interval is ten times Config.Sync.Resync. The first minute after the start is reported apart, because it has the
// first listing of each node, which replaces the inspections of single pods. The exponent says how the time until all
// pods run grows with the number of pods, compared with the size before. The largest size takes four minutes; -short
// leaves it out, and idles for a second only.
func BenchmarkFleet(b *testing.B) {
	sizes := []struct {
		nodes, pods int
		resync      time.Duration
	}{{10, 1000, time.Minute}, {100, 10_000, time.Minute}, {1000, 100_000, time.Minute}, {1000, 100_000, time.Hour}}
	if testing.Short() {
		sizes = sizes[:2]
	}
	var pods, seconds float64
	for _, size := range sizes {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d/resync=%v", size.nodes, size.pods, size.resync), func(b *testing.B) {
			for b.Loop() {
				took := liveOf(b, size.nodes, size.pods, size.resync)
				if pods > 0 && pods < float64(size.pods) {
					b.ReportMetric(math.Log(took/seconds)/math.Log(float64(size.pods)/pods), "exponent")
				}
				pods, seconds = float64(size.pods), took
			}
		})
	}
}

// liveOf is one life of a fleet. It returns how many seconds it took until all pods ran.
func liveOf(b *testing.B, nodes, pods int, resync time.Duration) float64 {
	empty := memoryInUse()
	f := newFleet(b, nodes, pods/nodes, resync)
	idle := memoryInUse()
	b.ReportMetric((idle-empty)/float64(nodes), "B/node")

	begun := time.Now()
	f.forEachPod(func(n *Node, pod *v1.Pod) { require.NoError(b, n.Apply(pod)) })
	f.waitUntil(func(n *Node, pod *v1.Pod) bool { return n.isRunningPod(pod) })
	running := time.Since(begun).Seconds()
	b.ReportMetric(running, "s/running")
	debug.FreeOSMemory() // Collecting what the start has left, and giving it back, is not idle time.
	b.ReportMetric(100*idleLoad(idleTime()), "%core/first-minute")
	b.ReportMetric(100*idleLoad(idleTime()), "%core/idle")
	b.ReportMetric((memoryInUse()-idle)/float64(pods), "B/pod")

	begun = time.Now()
	f.forEachPod(func(n *Node, pod *v1.Pod) { n.Delete(pod.UID) })
	f.waitUntil(func(n *Node, pod *v1.Pod) bool { return !n.cleaner.isDesiredOrHasWorker(pod.UID) })
	b.ReportMetric(time.Since(begun).Seconds(), "s/stopped")
	f.end()
	return running
}

// fleet are nodes that run, and the pods of each of them.
type fleet struct {
	nodes []*Node
	pods  []*v1.Pod
	end   func()
}

func newFleet(b *testing.B, nodes, podsPerNode int, resync time.Duration) *fleet {
	ctx, cancel := context.WithCancel(b.Context())
	var over sync.WaitGroup
	f := &fleet{pods: benchPods(podsPerNode)}
	f.end = func() { cancel(); over.Wait() }
	for i := range nodes {
		n, err := New(Config{Name: fmt.Sprint("node-", i), Scheduling: SchedulingConfig{MaxPods: podsPerNode}, Sync: SyncConfig{Resync: resync}})
		require.NoError(b, err)
		f.nodes = append(f.nodes, n)
		over.Go(func() { require.NoError(b, n.Run(ctx)) })
	}
	for _, n := range f.nodes {
		<-n.Ready()
	}
	return f
}

func (f *fleet) forEachPod(do func(*Node, *v1.Pod)) {
	for _, n := range f.nodes {
		for _, pod := range f.pods {
			do(n, pod)
		}
	}
}

func (f *fleet) waitUntil(done func(*Node, *v1.Pod) bool) {
	f.forEachPod(func(n *Node, pod *v1.Pod) {
		for !done(n, pod) {
			_ = executor.Over(nil).Sleep(context.Background(), time.Millisecond)
		}
	})
}

func (n *Node) isRunningPod(pod *v1.Pod) (is bool) {
	n.status.ReadPodStatus(pod.UID, func(s *v1.PodStatus) { is = s.Phase == v1.PodRunning })
	return is
}

// memoryInUse is what the heap and the stacks hold after a collection.
func memoryInUse() float64 {
	goruntime.GC()
	goruntime.GC() // What the first has only made ready.
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// idleTime is the time until each pod is synced again, or very short if the benchmark measures nothing.
func idleTime() time.Duration {
	if testing.Short() {
		return time.Second
	}
	return time.Minute
}

// idleLoad is the part of one processor that the process takes.
func idleLoad(d time.Duration) float64 {
	before := processorTime()
	_ = executor.Over(nil).Sleep(context.Background(), d)
	return (processorTime() - before).Seconds() / d.Seconds()
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
