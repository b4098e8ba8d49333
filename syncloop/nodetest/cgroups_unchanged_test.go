package nodetest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// CG-43: within a check period a sync of an unchanged pod reads and writes no cgroup file. The first sync in the next
// period reads the files of the pod once, and the sync of a Burstable pod reads the files of its QoS class once.
func TestCgroups_CG43_UnchangedReadsNothing(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	syncs := map[types.UID]int{}
	b := cgroupNode(t, dir, func(c *node.Config) {
		c.Hooks.Workers.Synced = func(s podworkers.Synced) { syncs[s.UID]++ }
		c.Sync.Resync = 10_000 * time.Hour
	})
	pods := []*v1.Pod{limitedPod("burstable", "1", "200Mi"), newPod("besteffort", []string{"serve"}), limitedPod("guaranteed", "500m", "200Mi")}
	for _, p := range pods {
		b.Apply(p)
	}
	period := int64(podsync.CgroupCheckPeriod)
	untilPeriod := func() time.Duration { return time.Duration(period - b.Now().UnixNano()%period) }
	b.Run(untilPeriod() + time.Minute) // The cgroups of unknown pods were looked for, too.
	syncAll := func(times int) []string {
		dir.Calls()
		clear(syncs)
		for range times {
			for _, p := range pods {
				b.Node().RequestSync(p.UID)
			}
			b.Run(time.Second)
		}
		for _, p := range pods {
			require.GreaterOrEqual(t, syncs[p.UID], times, "syncs of %s", p.Name)
		}
		return dir.Calls()
	}
	syncAll(1)
	assert.Empty(t, syncAll(50))
	b.Run(untilPeriod() + time.Second)
	first := syncAll(1)
	for _, call := range first {
		assert.NotContains(t, call, "WriteFile")
	}
	assert.Len(t, first, 62, "%q", first)
	assert.Empty(t, syncAll(50))
	b.Stop()
}

// countedResources is a node.AllocatedResources that counts.
type countedResources struct {
	saves map[types.UID]int
	bytes int
}

func (c *countedResources) ConsumeResources(*v1.Pod) (allocation.PodResources, bool) {
	return allocation.PodResources{}, false
}

func (c *countedResources) SaveResources(pod *v1.Pod, allocated allocation.PodResources) error {
	text, err := json.Marshal(allocated)
	c.saves[pod.UID]++
	c.bytes += len(text)
	return err
}

func (c *countedResources) DropResources(types.UID) error { return nil }

func (c *countedResources) Pods(func(types.UID) bool, int) ([]types.UID, error) { return nil, nil }

// RZ-14: the allocated resources of each of 1000 pods are saved once, when the pod starts. An unchanged pod is never
// saved again, however often it is synced. A resize that is decided at once is one save. A pod without requests and
// limits is not saved.
func TestAllocatedResources_RZ14_SavesOfThousandPods(t *testing.T) {
	const pods = 1000
	saved := &countedResources{saves: map[types.UID]int{}}
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{
		Pods: node.PodsConfig{AllocatedResources: saved}, Scheduling: node.SchedulingConfig{MaxPods: pods + 1},
	}})
	for i := range pods {
		b.Apply(smallPod(fmt.Sprint("p", i)))
	}
	b.Apply(newPod("free", []string{"serve"}))
	b.Run(time.Minute)
	assert.Len(t, saved.saves, pods)
	t.Logf("%d bytes for each pod, without the header of the file", saved.bytes/pods)
	assert.Less(t, saved.bytes/pods, 200)
	for i := range pods {
		assert.Equal(t, 1, saved.saves[types.UID(fmt.Sprint("p", i))])
	}
	clear(saved.saves)
	for range 3 {
		for i := range pods {
			b.Node().RequestSync(types.UID(fmt.Sprint("p", i)))
		}
		b.Run(10 * time.Minute)
	}
	assert.Empty(t, saved.saves, "unchanged pods")
	next := smallPod("p7")
	next.Generation = 2
	next.Spec.Containers[0].Resources.Limits[v1.ResourceMemory] = resource.MustParse("96Mi")
	b.Apply(next)
	b.Run(time.Minute)
	assert.Equal(t, map[types.UID]int{"p7": 1}, saved.saves)
	b.Stop()
}

// smallPod returns a Burstable pod with small requests, so that a thousand fit on a node.
func smallPod(name string) *v1.Pod {
	p := limitedPod(name, "100m", "64Mi")
	p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("1m")
	return p
}

// emptyFiles are cgroup files that store nothing: each directory can be created, and no file exists.
type emptyFiles struct{}

func (emptyFiles) Mkdir(string) error               { return nil }
func (emptyFiles) ReadFile(string) ([]byte, error)  { return nil, fs.ErrNotExist }
func (emptyFiles) WriteFile(string, []byte) error   { return nil }
func (emptyFiles) ReadDir(string) ([]string, error) { return nil, fs.ErrNotExist }
func (emptyFiles) Remove(string) error              { return nil }

// RZ-14, CG-43: the allocated resources of an idle pod cost at most 100 bytes of memory, because the pod itself has
// them. A cgroup costs less than 500, most of them for the counters of killed processes.
func TestCgroups_CG43_RZ14_BytesOfIdlePod(t *testing.T) {
	if raced || testing.Short() {
		t.Skip("it measures memory, which takes seconds and depends on the race detector")
	}
	const pods = 1000
	measure := func(config node.Config) float64 {
		config.Scheduling.MaxPods = pods
		config.Sync.Resync = 10_000 * time.Hour
		empty := heapInUse()
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
		for i := range pods {
			b.Apply(smallPod(fmt.Sprint("p", i)))
		}
		b.Run(time.Minute)
		used := heapInUse() - empty
		b.Stop()
		return float64(used) / pods
	}
	host := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: emptyFiles{}, Capabilities: cgroups.Probe(host, root)})
	require.NoError(t, err)
	measure(node.Config{}) // The first simulation allocates memory that later ones share.
	neither := measure(node.Config{})
	allocated := measure(node.Config{Pods: node.PodsConfig{AllocatedResources: discardedResources{}}}) - neither
	withCgroups := measure(node.Config{Cgroups: node.CgroupsConfig{PodCgroups: manager, MaxPIDs: 100}}) - neither
	t.Logf("bytes of an idle pod: %.0f for allocated resources, %.0f for a cgroup, %.0f for everything else", allocated, withCgroups, neither)
	assert.LessOrEqual(t, allocated, 100.0)
	assert.Less(t, withCgroups, 500.0)
}

// discardedResources is a node.AllocatedResources that stores nothing.
type discardedResources struct{}

func (discardedResources) ConsumeResources(*v1.Pod) (allocation.PodResources, bool) {
	return allocation.PodResources{}, false
}
func (discardedResources) SaveResources(*v1.Pod, allocation.PodResources) error { return nil }
func (discardedResources) DropResources(types.UID) error                        { return nil }
func (discardedResources) Pods(func(types.UID) bool, int) ([]types.UID, error)  { return nil, nil }

// heapInUse returns the bytes of the heap that are in use.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
