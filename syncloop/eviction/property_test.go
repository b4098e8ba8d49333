package eviction_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
)

// drawPod draws a pod with usage. Small ranges make equal values likely.
func drawPod(t *rapid.T, name string) eviction.Pod {
	args := map[string]string{"prio": rapid.SampledFrom([]string{"0", "1", "2000000000"}).Draw(t, "prio")}
	for _, key := range []string{"static", "mirror", "mem", "disk", "disk-limit", "dir"} {
		if rapid.IntRange(0, 3).Draw(t, key) == 0 {
			args[key] = rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, key+" value")
		}
	}
	p := eviction.NewPod(newPod(name, args))
	figure := func(name string) *uint64 {
		return rapid.SampledFrom([]*uint64{nil, new(uint64(0)), new(uint64(1)), new(uint64(3)), new(uint64(math.MaxUint64))}).Draw(t, name)
	}
	disk := func(name string) eviction.DiskUsage {
		return eviction.DiskUsage{Bytes: figure(name), Inodes: figure(name + " inodes")}
	}
	p.Usage = eviction.Usage{
		Measured: rapid.IntRange(0, 4).Draw(t, "measured") > 0, MemoryBytes: figure("memory"), Processes: figure("pids"),
		Containers: []eviction.ContainerUsage{{Name: "main", MemoryBytes: figure("c memory"), Layer: disk("layer"), Logs: disk("logs")}},
		Volumes:    []eviction.VolumeUsage{{Name: "dir", DiskUsage: disk("dir")}},
	}
	if rapid.Bool().Draw(t, "terminating") {
		p.Terminating = true
		p.StopBy = start.Add(time.Duration(rapid.IntRange(-40, 600).Draw(t, "stop by")) * time.Second)
	}
	return p
}

func drawPods(t *rapid.T) (pods []eviction.Pod) {
	for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
		pods = append(pods, drawPod(t, fmt.Sprint("p", i)))
	}
	return pods
}

func namesByRank(s eviction.Signal, layout eviction.Layout, pods []eviction.Pod) []string {
	names := []string{}
	for _, i := range eviction.Rank(s, layout, pods) {
		names = append(names, pods[i].Pod().Name)
	}
	return names
}

// TestRank_EV18_TotalOrder: the ranking does not depend on the order of the list, and a pair of pods has the same
// order in every list.
func TestRank_EV18_TotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t)
		s := rapid.SampledFrom(eviction.Signals()).Draw(t, "signal")
		layout := rapid.SampledFrom([]eviction.Layout{eviction.OneFilesystem, eviction.DedicatedImages, eviction.SplitImages}).Draw(t, "layout")
		order := namesByRank(s, layout, pods)
		require.Equal(t, order, namesByRank(s, layout, rapid.Permutation(pods).Draw(t, "permuted")))
		for i := range pods {
			fewer := slices.Delete(slices.Clone(pods), i, i+1)
			require.Equal(t, slices.DeleteFunc(slices.Clone(order), func(n string) bool { return n == pods[i].Pod().Name }), namesByRank(s, layout, fewer))
		}
	})
}

// TestRank_LargerUsageIsNeverSafer: a pod that uses more memory is not evicted later.
func TestRank_LargerUsageIsNeverSafer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := drawPods(t)
		if len(pods) == 0 {
			return
		}
		before := slices.Index(namesByRank(eviction.MemoryAvailable, eviction.OneFilesystem, pods), "p0")
		bytes := uint64(0)
		if b := pods[0].Usage.MemoryBytes; b != nil {
			bytes = *b
		}
		pods[0].Usage.MemoryBytes = new(bytes + min(uint64(rapid.IntRange(0, 5).Draw(t, "more")), math.MaxUint64-bytes))
		require.LessOrEqual(t, slices.Index(namesByRank(eviction.MemoryAvailable, eviction.OneFilesystem, pods), "p0"), before)
	})
}

// drawObservations measures some signals at a time.
func drawObservations(t *rapid.T, now time.Time) eviction.Observations {
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}, Layout: rapid.SampledFrom([]eviction.Layout{eviction.OneFilesystem, eviction.DedicatedImages, eviction.SplitImages}).Draw(t, "layout")}
	for _, s := range eviction.Signals() {
		if rapid.IntRange(0, 3).Draw(t, string(s)) > 0 {
			o.Signals[s] = eviction.Observation{
				Available: int64(rapid.IntRange(0, 30).Draw(t, "available")), Capacity: 100,
				Time: now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 5, 40}).Draw(t, "age")) * time.Second),
			}
		}
	}
	return o
}

var walkSettings = eviction.Settings{
	Hard:            map[string]string{"memory.available": "10%", "pid.available": "5", "nodefs.available": "10%", "imagefs.available": "10%", "imagefs.inodesFree": "3"},
	Soft:            map[string]string{"memory.available": "20%", "nodefs.available": "20%"},
	SoftGracePeriod: map[string]string{"memory.available": "15s", "nodefs.available": "30s"},
	MinimumReclaim:  map[string]string{"nodefs.available": "5%"},
}

// TestDecide_Walk walks through random passes of one node. It checks after each pass:
//   - no critical pod is evicted (EV-22), and for pressure at most one pod (EV-10)
//   - no pass evicts for a signal without a new and fresh measurement below its threshold (EV-12)
//   - a hard threshold that is met acts before a soft one (EV-13)
//   - a pass either reclaims or evicts, and a reclaim is followed by a pass at once (EV-14)
//   - a second call with equal arguments has an equal result, and changes no argument (EV-34)
func TestDecide_Walk(t *testing.T) {
	thresholds, err := walkSettings.Thresholds()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		policy := eviction.Policy{Thresholds: thresholds, TransitionPeriod: time.Minute, MaxPodGraceSeconds: int64(rapid.SampledFrom([]int{-1, 0, 30}).Draw(t, "max grace"))}
		var h eviction.History
		now := start
		newest := map[eviction.Signal]time.Time{}
		var victim string
		var victimSoft bool
		var victimAt time.Time
		for range rapid.IntRange(1, 12).Draw(t, "passes") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 10, 31}).Draw(t, "time")) * time.Second)
			pods, o := drawPods(t), drawObservations(t, now)
			if !slices.ContainsFunc(pods, func(p eviction.Pod) bool { return p.Pod().Name == victim }) {
				victim = "" // It has stopped.
			}
			observed := eviction.Observations{Signals: maps.Clone(o.Signals), Layout: o.Layout}
			d := policy.Decide(h, o, pods, now)
			require.Equal(t, d, policy.Decide(h, o, pods, now), "a second call")
			require.Equal(t, observed, o, "arguments")
			pressure := 0
			for _, v := range d.Victims {
				i := slices.IndexFunc(pods, func(p eviction.Pod) bool { return p.Pod().UID == v.UID })
				require.GreaterOrEqual(t, i, 0)
				require.False(t, podspec.IsCritical(pods[i].Pod()), "critical pod evicted")
				require.GreaterOrEqual(t, v.GraceSeconds, eviction.MinGraceSeconds)
				if v.Condition != nil {
					pressure++
				}
			}
			require.LessOrEqual(t, pressure, 1)
			if pressure > 0 {
				require.Len(t, d.Victims, 1)
				m := observed.Signals[d.Acting.Signal]
				require.True(t, m.Time.After(newest[d.Acting.Signal]) && now.Sub(m.Time) < 30*time.Second, "old measurement of %s", d.Acting.Signal)
				require.Less(t, m.Available, d.Acting.Value.Of(100)+d.Acting.MinReclaim.Of(100))
				if d.Acting.IsSoft() {
					for _, hard := range thresholds {
						m, ok := observed.Signals[hard.Signal]
						fresh := ok && m.Time.After(newest[hard.Signal]) && now.Sub(m.Time) < 30*time.Second
						require.False(t, !hard.IsSoft() && fresh && m.Available < hard.Value.Of(100), "hard %s is met too", hard.Signal)
					}
				}
				if victim != "" && now.Sub(victimAt) < eviction.VictimTimeout {
					require.True(t, victimSoft && !d.Acting.IsSoft() && string(d.Victims[0].UID) == victim, "a second victim before the first one has stopped")
				}
				victim, victimSoft, victimAt = string(d.Victims[0].UID), d.Acting.IsSoft(), now
			}
			if len(d.Reclaim) > 0 {
				require.Empty(t, d.Victims)
				require.Equal(t, now, d.NextAt)
			} else {
				require.True(t, d.NextAt.After(now) && !d.NextAt.After(now.Add(eviction.DefaultPeriod)))
			}
			for s, m := range observed.Signals {
				if m.Time.After(newest[s]) {
					newest[s] = m.Time
				}
			}
			h = d.NextHistory
		}
	})
}

// TestAvailableOf_EV32: more usage than the limit leaves nothing, and never a huge number.
func TestAvailableOf_EV32(t *testing.T) {
	assert.EqualValues(t, 0, eviction.AvailableOf(100, 101))
	assert.EqualValues(t, 0, eviction.AvailableOf(0, math.MaxUint64))
	assert.EqualValues(t, 1, eviction.AvailableOf(101, 100))
	assert.EqualValues(t, int64(math.MaxInt64), eviction.AvailableOf(math.MaxUint64, 0))
}

// TestRank_EV32_SumsSaturate: huge figures do not become negative.
func TestRank_EV32_SumsSaturate(t *testing.T) {
	huge := new(uint64(math.MaxUint64))
	a, b := eviction.NewPod(newPod("a", nil)), eviction.NewPod(newPod("b", nil))
	a.Usage = eviction.Usage{Measured: true, Processes: huge, Containers: []eviction.ContainerUsage{{Name: "main", Layer: eviction.DiskUsage{Bytes: huge}, Logs: eviction.DiskUsage{Bytes: huge}}}}
	b.Usage = eviction.Usage{Measured: true, Processes: new(uint64(1)), Containers: []eviction.ContainerUsage{{Name: "main", Layer: eviction.DiskUsage{Bytes: new(uint64(1))}}}}
	for _, s := range []eviction.Signal{eviction.PIDAvailable, eviction.NodeFsAvailable} {
		assert.Equal(t, []string{"a", "b"}, namesByRank(s, eviction.OneFilesystem, []eviction.Pod{b, a}), s)
	}
}

// TestDefaultHard_EV7: the defaults equal the kubelet's on Linux.
func TestDefaultHard_EV7(t *testing.T) {
	thresholds, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
	require.NoError(t, err)
	var b strings.Builder
	for _, s := range thresholds {
		fmt.Fprintf(&b, "%s %d/1000Mi\n", s.Signal, s.Value.Of(1000<<20))
	}
	assert.Equal(t, "memory.available 104857600/1000Mi\nimagefs.available 157286406/1000Mi\nimagefs.inodesFree 52428800/1000Mi\n"+
		"nodefs.available 104857601/1000Mi\nnodefs.inodesFree 52428800/1000Mi\n", b.String())
}

// TestAddAllocatableMemory: the copy has the value of the hard threshold.
func TestAddAllocatableMemory(t *testing.T) {
	thresholds, err := walkSettings.Thresholds()
	require.NoError(t, err)
	all := eviction.AddAllocatableMemory(thresholds)
	require.Len(t, all, len(thresholds)+1)
	assert.Equal(t, eviction.AllocatableMemoryAvailable, all[1].Signal)
	assert.Equal(t, all[0].Value, all[1].Value)
	assert.Equal(t, all, eviction.AddAllocatableMemory(all))
	assert.Equal(t, []eviction.Threshold{}, eviction.AddAllocatableMemory([]eviction.Threshold{}))
}

// TestReclaimKind_String: each kind of reclaim has a name.
func TestReclaimKind_String(t *testing.T) {
	assert.Equal(t, "dead containers, unused images, unknown", fmt.Sprintf("%v, %v, %v", eviction.DeadContainers, eviction.UnusedImages, eviction.ReclaimKind(9)))
}

// TestUsageOf: without usage of the whole pod the memory is the sum over its containers. An unknown figure stays
// unknown. Logs are found by the names of containers.
func TestUsageOf(t *testing.T) {
	stats := runtime.PodStats{Containers: []runtime.ContainerStats{
		{Name: "a", Memory: &runtime.MemoryStats{WorkingSetBytes: new(uint64(2))}, Filesystem: &runtime.FilesystemStats{UsedBytes: new(uint64(7))}},
		{Name: "b", Memory: &runtime.MemoryStats{WorkingSetBytes: new(uint64(3))}},
	}}
	u := eviction.UsageOf(stats, eviction.Storage{Logs: map[string]eviction.DiskUsage{"b": {Bytes: new(uint64(9))}}})
	assert.True(t, u.Measured)
	assert.EqualValues(t, 5, *u.MemoryBytes)
	assert.EqualValues(t, 7, *u.Containers[0].Layer.Bytes)
	assert.EqualValues(t, 9, *u.Containers[1].Logs.Bytes)
	stats.Memory = &runtime.MemoryStats{WorkingSetBytes: new(uint64(11))}
	assert.EqualValues(t, 11, *eviction.UsageOf(stats, eviction.Storage{}).MemoryBytes)
	assert.Nil(t, eviction.UsageOf(runtime.PodStats{}, eviction.Storage{}).MemoryBytes)
}
