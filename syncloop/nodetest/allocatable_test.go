package nodetest_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// resourceList returns a list of cpu and memory.
func resourceList(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// enforceAllocatable configures a node to limit all pods together to 3 of 4 CPUs, 3 of 4 GiB and 500 processes.
func enforceAllocatable(c *node.Config) {
	c.Scheduling.Capacity, c.Scheduling.Reserved = resourceList("4", "4Gi"), resourceList("1", "1Gi")
	c.Cgroups.EnforceAllocatable, c.Cgroups.MaxTotalPIDs = true, 500
}

// totalLimits returns the limits of all pods together.
func totalLimits(dir *cgroupstest.Dir) string {
	return strings.Join([]string{
		cgroupFile(dir, "cpu/podkeel-test/cpu.shares"), cgroupFile(dir, "memory/podkeel-test/memory.limit_in_bytes"), cgroupFile(dir, "pids/podkeel-test/pids.max"),
	}, " ")
}

// limitedNode is a node with a fake cgroup file system of version 1, which is changed in order.
func limitedNode(t *testing.T, dir *cgroupstest.Dir, change ...func(*node.Config)) *nodetest.Simulation {
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(t, err)
	return nodetest.New(t, nodetest.Config{Seed: 1, Configure: func(c *node.Config) {
		c.Cgroups.PodCgroups = manager
		enforceAllocatable(c)
		for _, f := range change {
			f(c)
		}
	}})
}

// The pods together are limited to the capacity without the reserved resources. Pods can request less: the hard threshold
// of memory.available is subtracted too.
func TestAllocatable_CG19(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	p := &nodetest.Pressure{MemoryBytes: 4 << 30}
	b := limitedNode(t, dir, p.Configure(hardMemory("100Mi"), eviction.Policy{}))
	b.Apply(sizedPod("large", "1", "2973Mi", 1))
	b.Apply(sizedPod("exact", "1", "2972Mi", 1))
	b.Run(time.Second)
	assert.Equal(t, "3072 3221225472 500", totalLimits(dir))
	allocatable := b.Node().Scheduling().Allocatable()
	assert.Equal(t, []string{"3", "2972Mi"}, []string{allocatable.Cpu().String(), allocatable.Memory().String()})
	assert.Equal(t, "large Failed OutOfmemory, exact Running", describePods(b))
	b.Stop()
}

// Without eviction no threshold counts, and without EnforceAllocatable nothing limits all pods together.
func TestAllocatable_CG19_Off(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := limitedNode(t, dir, func(c *node.Config) { c.Cgroups.EnforceAllocatable = false })
	b.Apply(sizedPod("web", "1", "3Gi", 1))
	b.Run(time.Second)
	assert.Equal(t, "1024 9223372036854771712 max", totalLimits(dir))
	assert.Equal(t, "web Running", describePods(b))
	b.Stop()
}

// Limits that cannot be written do not hold up pods. They are written again each minute, and repaired later after a
// foreign change.
func TestAllocatable_CG20(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	busy := true
	dir.Fail(func(call, path string) error {
		if busy && call == "WriteFile" && strings.HasSuffix(path, "/podkeel-test/memory.limit_in_bytes") {
			return syscall.EBUSY
		}
		return nil
	})
	b := limitedNode(t, dir)
	b.Apply(sizedPod("web", "1", "1Gi", 1))
	b.Run(90 * time.Second)
	assert.Equal(t, "web Running", describePods(b))
	assert.Equal(t, "3072 9223372036854771712 500", totalLimits(dir), "the other limits are written")
	busy = false
	b.Run(time.Minute)
	assert.Equal(t, "3072 3221225472 500", totalLimits(dir))
	dir.SetFile("/sys/fs/cgroup/pids/podkeel-test/pids.max", "7")
	b.Run(6 * time.Minute)
	assert.Equal(t, "3072 3221225472 500", totalLimits(dir))
	b.Stop()
}

// A node that gives up cgroups removes the limits of all pods together that an earlier process has left.
func TestAllocatable_Release(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	release := false
	b := limitedNode(t, dir, func(c *node.Config) { c.Cgroups.Release = release })
	b.Apply(sizedPod("web", "1", "1Gi", 1))
	b.Run(time.Second)
	assert.Equal(t, "3072 3221225472 500", totalLimits(dir))
	b.Crash()
	release = true
	b.Start()
	b.Run(time.Minute)
	assert.Equal(t, "3072 9223372036854771712 max", totalLimits(dir))
	b.Stop()
}

// The machine has enough memory, but the pods together come near their limit: one pod is evicted before the kernel kills.
func TestAllocatable_EV7_AllocatableMemory(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	p := &nodetest.Pressure{MemoryBytes: 4 << 30}
	b := limitedNode(t, dir, p.Configure(hardMemory("100Mi"), eviction.Policy{}))
	b.Apply(hungryPod("large", 1500, 30))
	b.Apply(hungryPod("small", 1000, 30))
	b.Run(15 * time.Second)
	assert.Equal(t, "large Running, small Running", describePods(b))
	dir.SetFile("/sys/fs/cgroup/memory/podkeel-test/memory.usage_in_bytes", "3200000000")
	b.Run(6 * time.Second)
	dir.SetFile("/sys/fs/cgroup/memory/podkeel-test/memory.usage_in_bytes", "1000000000")
	b.Run(5 * time.Second)
	assert.Equal(t, "large Failed Evicted DisruptionTarget, small Running, MemoryPressure", describePods(b))
	assert.Contains(t, statusMessage(b, "large"), "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20728Ki. ")
	b.Stop()
}
