package node

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkApply makes many single calls, beside one Replace of the same pods, on a node whose sources run and whose
// loop does not. It measures the time that the host program waits. The metric "ratio" is the time of Apply divided by
// the time of Replace; "taking" is the same with a consumer that takes each change at once. Times are medians. The
// first round is longer where the system is slow to allocate new memory.
func BenchmarkApply(b *testing.B) {
	for _, count := range []int{500, 5000} {
		b.Run(fmt.Sprint("pods=", count), func(b *testing.B) {
			pods := benchPods(count)
			var single, taking, whole times
			for b.Loop() {
				whole.measureOnNewNode(b, func(n *Node) { require.NoError(b, n.Replace(pods)) })
				single.measureOnNewNode(b, func(n *Node) { applyAll(b, n, pods, func() {}) })
				taking.measureOnNewNode(b, func(n *Node) { applyAll(b, n, pods, func() { n.sources.TakeAll(nil) }) })
			}
			b.ReportMetric(single[0], "ms/apply-first")
			b.ReportMetric(single.medianTime(), "ms/apply")
			b.ReportMetric(whole.medianTime(), "ms/replace")
			b.ReportMetric(single.medianTime()/whole.medianTime(), "ratio")
			b.ReportMetric(taking.medianTime()/whole.medianTime(), "ratio-taking")
		})
	}
}

func benchPods(count int) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "img:1", Command: []string{"serve"}}}}}
		pod.Namespace, pod.Name, pod.UID = "default", fmt.Sprint("pod-", i), types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))
		pods[i] = pod
	}
	return pods
}

// times are milliseconds.
type times []float64

func (t times) medianTime() float64 { return slices.Sorted(slices.Values(t))[len(t)/2] }

// measureOnNewNode adds the time that f takes on a new node.
func (t *times) measureOnNewNode(b *testing.B, f func(*Node)) {
	n, err := New(Config{})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	require.NoError(b, n.sources.Run(ctx)) // The handle has its sink and needs no more.
	begun := time.Now()
	f(n)
	*t = append(*t, time.Since(begun).Seconds()*1000)
}

func applyAll(b *testing.B, n *Node, pods []*v1.Pod, then func()) {
	for _, pod := range pods {
		require.NoError(b, n.Apply(pod))
		then()
	}
	for _, pod := range pods[:len(pods)/10] {
		n.Delete(pod.UID)
		then()
	}
}

// TestApply_CostDoesNotGrow: a single call among many pods allocates no more than among few.
func TestApply_CostDoesNotGrow(t *testing.T) {
	n, err := New(Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, n.sources.Run(ctx))
	pods := benchPods(2000)
	allocs := func() float64 {
		return testing.AllocsPerRun(10, func() {
			require.NoError(t, n.Apply(pods[0]))
			n.sources.TakeAll(nil)
		})
	}
	require.NoError(t, n.Apply(pods[0]))
	few := allocs()
	require.NoError(t, n.Replace(pods))
	n.sources.TakeAll(nil)
	// Half as much again is for the race detector, under which pools forget at random.
	require.LessOrEqual(t, allocs(), 1.5*few)
}
