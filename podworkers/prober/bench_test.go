package prober_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/prober"
)

// quick is a Checker that costs nothing, so that the cost is the prober's.
type quick struct{ calls atomic.Int64 }

func (q *quick) Check(context.Context, prober.Request) (prober.CheckResult, string, error) {
	q.calls.Add(1)
	return prober.Passed, "", nil
}

// tenThousand is a prober of 10,000 probes with a period of 10 s, spread over it.
func tenThousand(b *testing.B, clk clock.Clock, began time.Time) (*prober.Prober, *quick) {
	q := &quick{}
	place := 0.0
	p, err := prober.New(prober.Config{Check: q, Clock: clk, Jitter: func() float64 { place += 1e-4; return place - 1e-4 }})
	require.NoError(b, err)
	for i := range 5000 {
		uid := types.UID(fmt.Sprint(i))
		pod := aPod(string(uid), "lr")
		p.AddPod(pod)
		p.Observe(uid, prober.Observed{PodIP: "10.0.0.1", Containers: []prober.Container{
			{Name: "c", ID: string(uid), Running: true, StartedAt: began},
		}})
	}
	return p, q
}

// still is the real clock moved on by hand, so that ten seconds of ticks are
// made as fast as they can be.
type still struct {
	clock.RealClock
	now *time.Time
}

func (s still) Now() time.Time                  { return *s.now }
func (s still) Since(t time.Time) time.Duration { return s.now.Sub(t) }

// BenchmarkTick is one tick of one of 10,000 probes: taking it, a goroutine, a
// context with a deadline, the verdict, and its place among the due ones. At a
// period of 10 s there are 1000 a second, so 50 µs is 5 % of a core. The clock
// is not the real one, whose deadlines are cheaper.
func BenchmarkTick(b *testing.B) {
	now := start
	p, q := tenThousand(b, still{now: &now}, start.Add(-time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		require.NoError(b, p.Step(b.Context()))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(q.calls.Load()), "ns/tick")
	b.ReportMetric(100*float64(b.Elapsed().Nanoseconds())/float64(q.calls.Load())*1000/1e9, "%core")
}

// BenchmarkTenThousandProbes is one second of Run with 10,000 probes at a period
// of 10 s: 1000 checks, which cost nothing themselves. Time is virtual, so what
// a second takes is what it costs the processor. In between there is the
// goroutine of Run and no other.
func BenchmarkTenThousandProbes(b *testing.B) {
	scheduler := executor.NewScheduler(1, start)
	process := scheduler.NewProcess()
	p, q := tenThousand(b, process.Clock(), start.Add(-time.Hour))
	ctx, cancel := executor.WithCancel(b.Context())
	process.Go(func() { _ = p.Run(ctx) })
	scheduler.RunUntil(start.Add(20 * time.Second))
	q.calls.Store(0)
	seconds, most := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		seconds++
		scheduler.RunUntil(scheduler.Now().Add(time.Second))
		most = max(most, process.Running())
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(seconds), "cpu-ms/s")
	b.ReportMetric(float64(q.calls.Load())/float64(seconds), "probes/s")
	b.ReportMetric(float64(most), "goroutines")
	cancel()
	scheduler.RunUntilIdle()
}

// BenchmarkUpdatePodStatus is the cost to each status that is made.
func BenchmarkUpdatePodStatus(b *testing.B) {
	now := start
	p, _ := tenThousand(b, still{now: &now}, start.Add(-time.Hour))
	pod := aPod("7", "lr")
	status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{runningStatus("7")}}
	b.ReportAllocs()
	for b.Loop() {
		p.UpdatePodStatus(pod, &status)
	}
}
