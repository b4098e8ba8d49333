package usage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return began.Add(d) }

func used(id string, after, cpu time.Duration) runtime.ContainerStats {
	return runtime.ContainerStats{ContainerID: id, CPU: &runtime.CPUStats{At: at(after), UsageCoreNanoSeconds: new(uint64(cpu))}}
}

// A rate follows from two samples of one container.
func TestSamples_Rates(t *testing.T) {
	var s Samples
	for i, c := range []struct {
		why   string
		given runtime.ContainerStats
		rate  *uint64
		total time.Duration
	}{
		{"the first sample has no rate", used("a", 0, time.Second), nil, time.Second},
		{"half a processor", used("a", 10*time.Second, 6*time.Second), new(uint64(5e8)), 6 * time.Second},
		{"the same measurement again keeps its rate", used("a", 10*time.Second, 6*time.Second), new(uint64(5e8)), 6 * time.Second},
		{"an older one changes nothing", used("a", 5*time.Second, 2*time.Second), new(uint64(5e8)), 6 * time.Second},
		{"nothing was used, which is not unknown", used("a", 20*time.Second, 6*time.Second), new(uint64), 6 * time.Second},
		{"a counter that begins anew has no rate", used("a", 30*time.Second, time.Second), nil, 7 * time.Second},
		{"another container has no rate", used("b", 40*time.Second, time.Second), nil, 8 * time.Second},
		{"the first was forgotten with its end", used("a", 50*time.Second, time.Second), nil, 9 * time.Second},
		{"ten minutes are not too long", used("a", 50*time.Second+MaxAge, 301*time.Second), new(uint64(5e8)), 309 * time.Second},
		{"longer is, and counts all the same", used("a", 51*time.Second+2*MaxAge, 302*time.Second), nil, 310 * time.Second},
		{"unknown stays unknown", runtime.ContainerStats{ContainerID: "a", CPU: &runtime.CPUStats{At: at(time.Hour)}}, nil, 310 * time.Second},
		{"no processor at all", runtime.ContainerStats{ContainerID: "a"}, nil, 310 * time.Second},
	} {
		stats := runtime.PodStats{Containers: []runtime.ContainerStats{c.given}}
		s.AddRates("pod", &stats)
		var rate *uint64
		if stats.Containers[0].CPU != nil {
			rate = stats.Containers[0].CPU.UsageNanoCores
		}
		assert.Equal(t, c.rate, rate, "%d: %s", i, c.why)
		assert.Equal(t, uint64(c.total), s.Total().CPUNanoSeconds, "%d: %s", i, c.why)
	}
}

func TestSamples_ARateOfTheRuntimeStays(t *testing.T) {
	var s Samples
	for _, second := range []time.Duration{1, 2} {
		c := used("a", second*time.Second, second*time.Second)
		c.CPU.UsageNanoCores = new(uint64(7))
		s.AddRates("pod", &runtime.PodStats{Containers: []runtime.ContainerStats{c}})
		assert.Equal(t, uint64(7), *c.CPU.UsageNanoCores)
	}
}

// The figures of the whole pod have their own rate, and are not in the total a second time.
func TestSamples_ThePodIsNotCountedTwice(t *testing.T) {
	var s Samples
	for _, n := range []time.Duration{1, 2} {
		stats := runtime.PodStats{CPU: used("", n*time.Second, 3*n*time.Second).CPU, Containers: []runtime.ContainerStats{used("a", n*time.Second, n*time.Second)}}
		s.AddRates("pod", &stats)
		if n == 2 {
			assert.Equal(t, uint64(3e9), *stats.CPU.UsageNanoCores)
		}
	}
	assert.Equal(t, uint64(2*time.Second), s.Total().CPUNanoSeconds)
}

// Totals do not decrease when a pod is removed or its interface is created again.
func TestSamples_TotalsNeverGoDown(t *testing.T) {
	var s Samples
	observe := func(uid types.UID, after time.Duration, rx, tx uint64) {
		n := &runtime.NetworkStats{At: at(after), Interfaces: []runtime.InterfaceStats{{Name: "eth0", RxBytes: &rx, TxBytes: &tx}, {Name: "lo"}}}
		s.AddRates(uid, &runtime.PodStats{Network: n})
	}
	observe("a", 1, 10, 1)
	observe("b", 1, 100, 2)
	observe("a", 2, 30, 1)
	assert.Equal(t, Total{RxBytes: 130, TxBytes: 3}, s.Total())
	s.RemoveUnknown(func(uid types.UID) bool { return uid == "a" })
	observe("a", 3, 31, 1)
	assert.Equal(t, Total{RxBytes: 131, TxBytes: 3}, s.Total())
	observe("a", 4, 5, 1)
	observe("b", 4, 1, 1)
	assert.Equal(t, Total{RxBytes: 137, TxBytes: 4}, s.Total())
}

// A pod has the sums of its containers, if the figures of all containers are known.
func TestSum(t *testing.T) {
	memory := func(after time.Duration, set uint64, free *uint64) *runtime.MemoryStats {
		return &runtime.MemoryStats{At: at(after), WorkingSetBytes: &set, AvailableBytes: free}
	}
	a, b := used("a", 2, 5), used("b", 1, 6)
	a.CPU.UsageNanoCores, b.CPU.UsageNanoCores = new(uint64(1)), nil
	a.Memory, b.Memory = memory(3, 7, new(uint64(1))), memory(4, 8, nil)
	stats := runtime.PodStats{Containers: []runtime.ContainerStats{a, b}}
	SumContainers(&stats)
	assert.Equal(t, &runtime.CPUStats{At: at(1), UsageCoreNanoSeconds: new(uint64(11))}, stats.CPU, "as old as the older one")
	assert.Equal(t, memory(3, 15, nil), stats.Memory)
	assert.Equal(t, uint64(5), *a.CPU.UsageCoreNanoSeconds, "containers stay as they are")

	own := &runtime.CPUStats{At: at(9)}
	stats = runtime.PodStats{CPU: own, Containers: []runtime.ContainerStats{a, {ContainerID: "c"}}}
	SumContainers(&stats)
	assert.Same(t, own, stats.CPU)
	assert.Nil(t, stats.Memory, "of one container nothing is known")
	none := runtime.PodStats{}
	SumContainers(&none)
	assert.Zero(t, none)
}

// A node has the sums of the known figures of its pods.
func TestNode(t *testing.T) {
	total := Total{CPUNanoSeconds: 9, RxBytes: 5, TxBytes: 6}
	network := func(d time.Duration) *runtime.NetworkStats {
		return &runtime.NetworkStats{At: at(d), Interfaces: []runtime.InterfaceStats{{RxBytes: new(uint64(5)), TxBytes: new(uint64(6))}}}
	}
	node := func(d time.Duration, rate, set uint64) runtime.PodStats {
		return runtime.PodStats{
			CPU:     &runtime.CPUStats{At: at(d), UsageCoreNanoSeconds: new(uint64(9)), UsageNanoCores: &rate},
			Memory:  &runtime.MemoryStats{At: at(d), WorkingSetBytes: &set},
			Network: network(d),
		}
	}
	assert.Equal(t, node(7, 0, 0), SumNode(nil, total, at(7)))
	a := runtime.PodStats{
		CPU: &runtime.CPUStats{At: at(2), UsageNanoCores: new(uint64(3))}, Memory: &runtime.MemoryStats{At: at(2), WorkingSetBytes: new(uint64(4))}, Network: network(2),
	}
	b := runtime.PodStats{CPU: &runtime.CPUStats{At: at(3)}, Memory: &runtime.MemoryStats{At: at(3)}, Network: network(3)}
	assert.Equal(t, node(2, 3, 4), SumNode([]runtime.PodStats{{}, b, a}, total, at(7)))
}

// The rate of a node is unknown, and not zero, until the rate of a pod is known.
func TestSumNode_UnknownRate(t *testing.T) {
	of := SumNode([]runtime.PodStats{{CPU: &runtime.CPUStats{At: at(3)}}}, Total{}, at(7))
	assert.Nil(t, of.CPU.UsageNanoCores)
}
