package eviction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

// benchmarkDecide decides under memory pressure about n pods with two containers each.
func benchmarkDecide(b *testing.B, n int) {
	pods := make([]eviction.Pod, n)
	for i := range pods {
		pods[i] = eviction.NewPod(newPod(fmt.Sprint("pod-", i), map[string]string{"mem": "1Mi", "disk-limit": "1Gi", "second": "", "dir": "1Gi"}))
		figure := new(uint64(i * 7919 % 104729))
		disk := eviction.DiskUsage{Bytes: figure, Inodes: figure}
		pods[i].Usage = eviction.Usage{Measured: true, MemoryBytes: figure, Processes: figure,
			Containers: []eviction.ContainerUsage{{Name: "main", MemoryBytes: figure, Layer: disk, Logs: disk}, {Name: "second", MemoryBytes: figure, Layer: disk, Logs: disk}},
			Volumes:    []eviction.VolumeUsage{{Name: "dir", DiskUsage: disk}},
		}
	}
	thresholds, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
	if err != nil {
		b.Fatal(err)
	}
	policy := eviction.Policy{Thresholds: thresholds}
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}
	for _, t := range thresholds {
		o.Signals[t.Signal] = eviction.Observation{Available: 50, Capacity: 100, Time: start}
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := policy.Decide(eviction.History{}, o, pods, start.Add(time.Second)); len(d.Victims) != 1 {
			b.Fatal(d.Victims)
		}
	}
}

// BenchmarkDecidePressure decides about up to 1,000 pods and evicts one of them. .ci/run compares it with n=100.
func BenchmarkDecidePressure(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) { benchmarkDecide(b, n) })
	}
}
