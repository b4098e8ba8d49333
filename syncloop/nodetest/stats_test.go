package nodetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// podUsing returns a pod whose container uses the resources in a script.
func podUsing(name, script string) *v1.Pod {
	pod := examplePod(name, "serve")
	pod.Annotations = map[string]string{memory.AnnotationPrefix + "c0": script}
	return pod
}

// describeFigures returns the stats of the pods, one line each, and of the node.
func describeFigures(t *testing.T, b *nodetest.Simulation) string {
	stats, err := b.Node().Containers().NodeStats(t.Context())
	require.NoError(t, err)
	began := stats.StartedAt
	var out strings.Builder
	line := func(who string, s runtime.PodStats) {
		fmt.Fprint(&out, who, ":")
		if c := s.CPU; c != nil {
			fmt.Fprintf(&out, " cpu %s at %s rate %s", formatFigure(c.UsageCoreNanoSeconds), c.At.Sub(began), formatFigure(c.UsageNanoCores))
		}
		if m := s.Memory; m != nil {
			fmt.Fprintf(&out, " memory %s of %s", formatFigure(m.WorkingSetBytes), formatFigure(m.AvailableBytes))
		}
		if s.Network != nil {
			fmt.Fprintf(&out, " rx %s tx %s", formatFigure(s.Network.Interfaces[0].RxBytes), formatFigure(s.Network.Interfaces[0].TxBytes))
		}
		for _, c := range s.Containers {
			fmt.Fprintf(&out, " disk %s", formatFigure(c.Filesystem.UsedBytes))
		}
		fmt.Fprintln(&out)
	}
	for _, p := range stats.Pods {
		line(p.Name, p.PodStats)
		if p.Err != nil {
			fmt.Fprintln(&out, " ", p.Err)
		}
	}
	line(stats.Name, runtime.PodStats{CPU: stats.CPU, Memory: stats.Memory, Network: stats.Network})
	if f := stats.ImageFilesystem; f != nil {
		fmt.Fprintf(&out, "images %s of %s, %s left\n", formatFigure(f.UsedBytes), formatFigure(f.CapacityBytes), formatFigure(f.AvailableBytes))
	}
	return out.String()
}

func formatFigure(n *uint64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// Rates need a second sample, ten seconds after the first; callers before that get the first sample
// again (SM-2). Stats leave out terminated containers (SM-3), but the sums of the node include them.
func TestStats_SM2_SM3_SampledByOneOwner(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Node: node.Config{Name: "edge", Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}}}})
	b.Machine().SetImageFilesystem(1<<30, 0)
	b.Apply(podUsing("a", "run=forever cpu=500m memory=64Mi disk=1Mi receive=1k transmit=10"))
	short := podUsing("b", "run=20s cpu=1 receive=1k")
	short.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(short)
	b.Run(5 * time.Second)
	first := describeFigures(t, b)
	assert.Equal(t, `a: cpu 2500000000 at 5s rate - memory 67108864 of - rx 5000 tx 50 disk 1048576
b: cpu 5000000000 at 5s rate - memory 16777216 of - rx 5000 tx 0 disk 0
edge: cpu 7500000000 at 5s rate - memory 83886080 of 989855744 rx 10000 tx 50
images 2097152 of 1073741824, 1071644672 left
`, first)
	b.Run(9 * time.Second)
	again := describeFigures(t, b)
	assert.Equal(t, first[:strings.Index(first, "edge")], again[:strings.Index(again, "edge")])
	b.Run(time.Second)
	assert.Equal(t, `a: cpu 7500000000 at 15s rate 500000000 memory 67108864 of - rx 15000 tx 150 disk 1048576
b: cpu 15000000000 at 15s rate 1000000000 memory 16777216 of - rx 15000 tx 0 disk 0
edge: cpu 22500000000 at 15s rate 1500000000 memory 83886080 of 989855744 rx 30000 tx 150
images 2097152 of 1073741824, 1071644672 left
`, describeFigures(t, b))
	b.Run(10 * time.Second)
	assert.Equal(t, `a: cpu 12500000000 at 25s rate 500000000 memory 67108864 of - rx 25000 tx 250 disk 1048576
edge: cpu 27500000000 at 25s rate 500000000 memory 67108864 of 1006632960 rx 40000 tx 250
images 2097152 of 1073741824, 1071644672 left
`, describeFigures(t, b))
	pod, err := b.Node().Containers().Stats(t.Context(), "uid-a")
	require.NoError(t, err)
	assert.Equal(t, "default/a", pod.Namespace+"/"+pod.Name)
	assert.Equal(t, pod.StartedAt, pod.Containers[0].StartedAt, "both at once, as far as the simulation goes")
	_, err = b.Node().Containers().Stats(t.Context(), "nobody")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	b.Stop()
}

// A pod that the runtime cannot measure has an error, and the other pods have their stats (SM-5).
func TestStats_SM5_OnePodSpoilsNoOther(t *testing.T) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	b := nodetest.New(t, nodetest.Config{Wrap: func(rt runtime.Runtime, clk clock.Clock) runtime.Runtime { return faults.Wrap(rt, clk) }})
	b.Apply(podUsing("a", "run=forever"))
	b.Apply(podUsing("b", "run=forever"))
	b.Run(time.Second)
	_, err = faults.Add(faulty.Rule{Verb: faulty.PodStats, UID: "uid-a", Do: faulty.Hang})
	require.NoError(t, err)
	assert.Equal(t, `a:
  context deadline exceeded
b: cpu 10000000 at 1s rate - memory 16777216 of - rx 0 tx 0 disk 0
localhost: cpu 10000000 at 1s rate - memory 16777216 of - rx 0 tx 0
`, describeFigures(t, b))
	_, err = b.Node().Containers().Stats(t.Context(), "uid-a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	b.Stop()
}

// unmeasured has none of the features of a runtime.
type unmeasured struct{ runtime.Runtime }

func TestStats_OfARuntimeThatDoesNotMeasure(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Wrap: func(rt runtime.Runtime, _ clock.Clock) runtime.Runtime { return unmeasured{rt} }})
	_, err := b.Node().Containers().NodeStats(t.Context())
	require.ErrorIs(t, err, runtime.ErrUnsupported)
	_, err = b.Node().Containers().Stats(t.Context(), "uid-a")
	require.ErrorIs(t, err, runtime.ErrUnsupported)
	b.Stop()
}

// exploding panics when it is asked for the figures of one pod.
type exploding struct{ *memory.Runtime }

func (e exploding) Features() runtime.Features {
	f := e.Runtime.Features()
	f.StatsReader = e
	return f
}

func (e exploding) PodStats(ctx context.Context, uid types.UID) (runtime.PodStats, error) {
	if uid == "uid-a" {
		panic("boom")
	}
	return e.Runtime.PodStats(ctx, uid)
}

func TestStats_APanicIsOfOnePod(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Wrap: func(rt runtime.Runtime, _ clock.Clock) runtime.Runtime { return exploding{rt.(*memory.Runtime)} }})
	b.Apply(podUsing("a", "run=forever"))
	b.Apply(podUsing("b", "run=forever"))
	b.Run(time.Second)
	stats, err := b.Node().Containers().NodeStats(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, stats.Pods[0].Err, "boom")
	require.NoError(t, stats.Pods[1].Err)
	require.ErrorContains(t, b.Node().Health().Err, "Runtime.PodStats")
	b.Stop()
}
