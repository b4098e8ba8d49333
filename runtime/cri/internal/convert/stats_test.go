package convert

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

func value(n uint64) *cri.UInt64Value { return &cri.UInt64Value{Value: n} }

// Present values are converted, also zeros; absent values are nil.
func TestContainerStats_AbsentIsNotZero(t *testing.T) {
	who := &cri.ContainerAttributes{Id: "c", Metadata: &cri.ContainerMetadata{Name: "main"}}
	at := func(n int64) time.Time { return time.Unix(0, n) }
	for name, c := range map[string]struct {
		from *cri.ContainerStats
		want runtime.ContainerStats
		none bool
	}{
		"nothing":               {from: nil, none: true},
		"nobody":                {from: &cri.ContainerStats{Cpu: &cri.CpuUsage{Timestamp: 1}}, none: true, want: runtime.ContainerStats{CPU: &runtime.CPUStats{At: at(1)}}},
		"of no time":            {from: &cri.ContainerStats{Attributes: who, Cpu: &cri.CpuUsage{}}, none: true, want: runtime.ContainerStats{ContainerID: "c", Name: "main"}},
		"a time alone":          {from: &cri.ContainerStats{Attributes: who, Cpu: &cri.CpuUsage{Timestamp: 1}}, want: runtime.ContainerStats{ContainerID: "c", Name: "main", CPU: &runtime.CPUStats{At: at(1)}}},
		"the time of the other": {from: &cri.ContainerStats{Attributes: who, Cpu: &cri.CpuUsage{Timestamp: 1}, Memory: &cri.MemoryUsage{}}, want: runtime.ContainerStats{ContainerID: "c", Name: "main", CPU: &runtime.CPUStats{At: at(1)}, Memory: &runtime.MemoryStats{At: at(1)}}},
		"zeros": {
			from: &cri.ContainerStats{Attributes: who, Memory: &cri.MemoryUsage{Timestamp: 2, WorkingSetBytes: value(0), AvailableBytes: value(0)}, WritableLayer: &cri.FilesystemUsage{Timestamp: 3, UsedBytes: value(0)}},
			want: runtime.ContainerStats{ContainerID: "c", Name: "main", Memory: &runtime.MemoryStats{At: at(2), WorkingSetBytes: new(uint64)}, Filesystem: &runtime.FilesystemStats{At: at(3), UsedBytes: new(uint64)}},
		},
		"no limit": {
			from: &cri.ContainerStats{Attributes: who, Memory: &cri.MemoryUsage{Timestamp: 2, AvailableBytes: value(1 << 62)}, Swap: &cri.SwapUsage{Timestamp: 2, SwapAvailableBytes: value(math.MaxUint64), SwapUsageBytes: value(1)}},
			want: runtime.ContainerStats{ContainerID: "c", Name: "main", Memory: &runtime.MemoryStats{At: at(2)}, Swap: &runtime.SwapStats{At: at(2), UsageBytes: new(uint64(1))}},
		},
	} {
		got, ok := ContainerStats(c.from)
		assert.Equal(t, !c.none, ok, name)
		assert.Equal(t, c.want, got, name)
	}
}

// Every field of what a runtime can say arrives.
func TestStats_Whole(t *testing.T) {
	n := value(7)
	cpu := &cri.CpuUsage{Timestamp: 1, UsageCoreNanoSeconds: n, UsageNanoCores: n}
	memory := &cri.MemoryUsage{Timestamp: 2, WorkingSetBytes: n, AvailableBytes: n, UsageBytes: n, RssBytes: n, PageFaults: n, MajorPageFaults: n}
	c, ok := ContainerStats(&cri.ContainerStats{
		Attributes: &cri.ContainerAttributes{Id: "c", Metadata: &cri.ContainerMetadata{Name: "main"}}, Cpu: cpu, Memory: memory,
		Swap:          &cri.SwapUsage{Timestamp: 3, SwapAvailableBytes: n, SwapUsageBytes: n},
		WritableLayer: &cri.FilesystemUsage{Timestamp: 4, UsedBytes: n, InodesUsed: n},
	})
	assert.True(t, ok)
	assert.Equal(t, []string{"StartedAt"}, zero(reflect.ValueOf(c), ""), "CRI does not say it here")
	assert.Equal(t, []string{"AvailableBytes", "CapacityBytes", "InodesFree", "Inodes"}, zero(reflect.ValueOf(*c.Filesystem), ""), "they are not of one container")
	for _, part := range []any{*c.CPU, *c.Memory, *c.Swap} {
		assert.Empty(t, zero(reflect.ValueOf(part), ""))
	}
	eth0 := &cri.NetworkInterfaceUsage{Name: "eth0", RxBytes: n, RxErrors: n, TxBytes: n, TxErrors: n}
	p := PodStats(&cri.LinuxPodSandboxStats{
		Cpu: cpu, Memory: memory, Process: &cri.ProcessUsage{ProcessCount: n},
		Network: &cri.NetworkUsage{Timestamp: 5, DefaultInterface: eth0, Interfaces: []*cri.NetworkInterfaceUsage{{Name: "lo"}, eth0}},
	})
	assert.Equal(t, []string{"Containers"}, zero(reflect.ValueOf(p), ""), "they have a call of their own")
	assert.Equal(t, []string{"eth0", "lo"}, []string{p.Network.Interfaces[0].Name, p.Network.Interfaces[1].Name}, "the default one is first, and not twice")
	assert.Empty(t, zero(reflect.ValueOf(p.Network.Interfaces[0]), ""))
	assert.Zero(t, PodStats(nil))
	assert.Zero(t, PodStats(&cri.LinuxPodSandboxStats{Network: &cri.NetworkUsage{Timestamp: 1}}), "a pod on the host's network")
}
