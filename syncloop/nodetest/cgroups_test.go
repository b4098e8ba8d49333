package nodetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// cgroupNode is a node with a fake cgroup file system of version 1.
func cgroupNode(t *testing.T, dir *cgroupstest.Dir, change ...func(*node.Config)) *nodetest.Simulation {
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(t, err)
	config := node.Config{Cgroups: node.CgroupsConfig{PodCgroups: manager, MaxPIDs: 100}}
	for _, f := range change {
		f(&config)
	}
	return nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
}

// cgroupFile returns the content of a file in a hierarchy of the fake, or "" if it is missing.
func cgroupFile(dir *cgroupstest.Dir, path string) string {
	text, err := dir.ReadFile("/sys/fs/cgroup/" + path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// limitedPod returns a Burstable pod with a limit of cpu and memory.
func limitedPod(name, cpu, memory string) *v1.Pod {
	p := sizedPod(name, "500m", memory, 1)
	p.Spec.Containers[0].Resources.Limits[v1.ResourceCPU] = resource.MustParse(cpu)
	return p
}

// CG-9, CG-10, CG-16, CG-43: the cgroup of a pod has the values of its spec, follows a resize, is repaired after a
// foreign change, and is removed with the pod.
func TestCgroups_CG43_Reconciled(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(time.Second)
	group := "podkeel-test/burstable/podweb/"
	values := func() []string {
		return []string{
			cgroupFile(dir, "cpu/"+group+"cpu.shares"), cgroupFile(dir, "cpu/"+group+"cpu.cfs_quota_us"),
			cgroupFile(dir, "memory/"+group+"memory.limit_in_bytes"), cgroupFile(dir, "pids/"+group+"pids.max"), cgroupFile(dir, "cpu/podkeel-test/burstable/cpu.shares"),
		}
	}
	assert.Equal(t, []string{"512", "100000", "209715200", "100", "512"}, values())

	next := limitedPod("web", "2", "300Mi")
	next.Generation = 2
	next.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("1")
	b.Apply(next)
	b.Run(time.Second)
	assert.Equal(t, []string{"1024", "200000", "314572800", "100", "1024"}, values())

	dir.SetFile("/sys/fs/cgroup/cpu/"+group+"cpu.shares", "2")
	dir.SetFile("/sys/fs/cgroup/cpu/podkeel-test/burstable/cpu.shares", "2")
	b.Run(20 * time.Minute)
	assert.Equal(t, []string{"1024", "200000", "314572800", "100", "1024"}, values(), "the foreign change is repaired")

	b.Delete("web")
	b.Run(time.Minute)
	assert.Equal(t, []string{"", "", "", "", "2"}, append(values()[:4:4], "2"))
	assert.NoError(t, dir.Check())
	b.Stop()
}

// CG-6: the cgroup of the Burstable pods has the shares of the sum of their requests, which is more than the sum of their
// shares.
func TestCgroups_CG6_SharesOfSums(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	for i := range 10 {
		p := limitedPod(fmt.Sprint("web", i), "1", "200Mi")
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("19m") // 19.456 shares
		b.Apply(p)
	}
	b.Run(time.Second)
	assert.Equal(t, "194", cgroupFile(dir, "cpu/podkeel-test/burstable/cpu.shares"))
	b.Delete("web3")
	b.Run(time.Minute)
	b.Delete("web4")
	b.Run(10 * time.Minute)
	assert.Equal(t, "155", cgroupFile(dir, "cpu/podkeel-test/burstable/cpu.shares"))
	b.Stop()
}

// CG-17: the cgroup of an unknown pod is removed, and a cgroup that is not in the root of the agent is not.
func TestCgroups_CG17_Orphans(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	earlier, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(t, err)
	_, err = earlier.Ensure("orphan", podresources.PodValues{QOSClass: v1.PodQOSBestEffort, CPUShares: podresources.Finite(2)}, 0)
	require.NoError(t, err)
	require.NoError(t, dir.Mkdir("/sys/fs/cgroup/cpu/podkeel-other"))
	require.NoError(t, dir.Mkdir("/sys/fs/cgroup/cpu/podkeel-other/podorphan"))
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(5 * time.Minute)
	groups := dir.Groups()
	assert.False(t, slices.ContainsFunc(groups, func(g string) bool { return strings.Contains(g, "podkeel-test/besteffort/podorphan") }), "%v", groups)
	assert.True(t, slices.ContainsFunc(groups, func(g string) bool { return strings.Contains(g, "podkeel-other/podorphan") }))
	assert.True(t, slices.ContainsFunc(groups, func(g string) bool { return strings.Contains(g, "podkeel-test/burstable/podweb") }))
	b.Stop()
}

// CG-13: a pod does not start without its cgroup, and starts when the cgroup can be created.
func TestCgroups_CG13_NotCreated(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	dir.Fail(func(call, path string) error {
		if call == "Mkdir" && strings.Contains(path, "podweb") {
			return errors.New("no room")
		}
		return nil
	})
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(time.Minute)
	assert.Contains(t, b.Transcript(), "event FailedToCreatePodContainer: The cgroup of the pod cannot be set up: ")
	assert.NotContains(t, b.Transcript(), "RunSandbox")
	dir.Fail(nil)
	b.Run(time.Minute)
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.Stop()
}

// OM-5: the counters of a real cgroup manager decide who was killed. The kernel of cgroup v1 has removed the cgroup of
// the victim, and the innocent container still has one.
func TestCgroups_OM5_Killed(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	var reports []podsync.OOMReport
	b := cgroupNode(t, dir, func(c *node.Config) {
		c.Hooks.Syncer.OOMKilled = func(r podsync.OOMReport) { reports = append(reports, r) }
	})
	pod := limitedPod("web", "1", "200Mi")
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers = append(pod.Spec.Containers, *pod.Spec.Containers[0].DeepCopy())
	pod.Spec.Containers[1].Name = "innocent"
	victim := pod.Spec.Containers[0].Name
	pod.Annotations[memory.AnnotationPrefix+victim] = "run=10s exit=137 reason=OOMKilled"
	pod.Annotations[memory.AnnotationPrefix+"innocent"] = "run=20s exit=7 reason=OOMKilled"
	b.Apply(pod)
	b.Run(5 * time.Second)
	dir.SetFile("/sys/fs/cgroup/memory/podkeel-test/burstable/podweb/memory.failcnt", "3")
	b.Run(time.Minute)
	assert.Equal(t, []podsync.OOMReport{{UID: "web", Container: victim, Limit: plan.OOMLimitPod}}, reports)
	text := "the kernel killed processes of the container, because the memory limit of the pod was reached"
	for _, c := range b.Pod("web").Status.ContainerStatuses {
		require.NotNil(t, c.State.Terminated, c.Name)
		assert.Equal(t, "OOMKilled", c.State.Terminated.Reason)
		assert.Equal(t, c.Name == victim, c.State.Terminated.Message == text, "%s: %s", c.Name, c.State.Terminated.Message)
	}
	b.Stop()
}

// B.7: on a host without rights pods run, without a cgroup of their own.
func TestCgroups_NoRights(t *testing.T) {
	b := cgroupNode(t, cgroupstest.New(cgroupstest.Config{Mode: "v1", ReadOnly: true}))
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(time.Second)
	next := limitedPod("web", "2", "300Mi")
	next.Generation = 2
	b.Apply(next)
	b.Run(time.Minute)
	assert.Equal(t, "allocated 500m has 500m/300Mi shares 512 memory 300", resizeOf(t, b, "web"))
	b.Delete("web")
	b.Run(time.Minute)
	b.Stop()
}

// CG-43: a pod whose memory in use is above its new limit restarts its containers nevertheless. On cgroup v1 the kernel
// refuses the limit while the memory, for example of an emptyDir, is in use. The cgroup gets it afterwards.
func TestCgroups_CG43_MemoryInUse(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(time.Second)
	group := "/sys/fs/cgroup/memory/podkeel-test/burstable/podweb/"
	dir.SetFile(group+"memory.usage_in_bytes", "157286400")
	next := limitedPod("web", "1", "100Mi")
	next.Generation = 2
	next.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	b.Apply(next)
	b.Run(5 * time.Minute)
	assert.Equal(t, "209715200", cgroupFile(dir, "memory/podkeel-test/burstable/podweb/memory.limit_in_bytes"))
	assert.Equal(t, int32(1), b.Pod("web").Status.ContainerStatuses[0].RestartCount)
	assert.NotNil(t, b.Pod("web").Status.ContainerStatuses[0].State.Running, "%v", b.Pod("web").Status)
	assert.Contains(t, resizeOf(t, b, "web"), "PodResizeInProgress Error generation 2: the cgroup of the pod keeps a larger limit: ")
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeError"))
	assert.Zero(t, strings.Count(b.Transcript(), "event ResizeCompleted"), "the resize is not complete")
	dir.SetFile(group+"memory.usage_in_bytes", "1000")
	b.Run(5 * time.Minute)
	assert.NotContains(t, resizeOf(t, b, "web"), "PodResizeInProgress")
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeCompleted"))
	assert.Equal(t, "104857600", cgroupFile(dir, "memory/podkeel-test/burstable/podweb/memory.limit_in_bytes"))
	b.Stop()
}

// A node that gives up cgroups leaves no limit of an earlier process: a resize above the old limit works, new pods
// have no cgroup, and the old cgroup is removed with its pod.
func TestCgroups_Release(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(t, err)
	release := false
	b := nodetest.New(t, nodetest.Config{Seed: 1, Configure: func(c *node.Config) {
		c.Cgroups = node.CgroupsConfig{PodCgroups: manager, Release: release, MaxPIDs: 100}
	}})
	b.Apply(limitedPod("web", "1", "200Mi"))
	b.Run(time.Second)
	b.Crash()
	release = true
	b.Start()
	b.Apply(limitedPod("new", "1", "200Mi"))
	b.Run(time.Minute)
	group := "podkeel-test/burstable/podweb/"
	assert.Equal(t, []string{"-1", "9223372036854771712", "max"}, []string{
		cgroupFile(dir, "cpu/"+group+"cpu.cfs_quota_us"), cgroupFile(dir, "memory/"+group+"memory.limit_in_bytes"), cgroupFile(dir, "pids/"+group+"pids.max"),
	})
	assert.False(t, slices.ContainsFunc(dir.Groups(), func(g string) bool { return strings.Contains(g, "podnew") }))
	b.Delete("web")
	b.Run(5 * time.Minute)
	assert.False(t, slices.ContainsFunc(dir.Groups(), func(g string) bool { return strings.Contains(g, "podweb") }), "%v", dir.Groups())
	b.Stop()
}

// managerWithoutCounters is a CgroupManager that is no CgroupOOMReader.
type managerWithoutCounters struct{ node.CgroupManager }

// While the cgroups cannot be listed, a node that gives up cgroups starts pods without one nevertheless. It removes the
// limits of a pod whose cgroup it finds by its counters, and of every other pod after the list works again. The fault is
// one line of the log.
func TestCgroups_ReleaseListFails(t *testing.T) {
	for _, counters := range []bool{true, false} {
		dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
		root, err := cgroups.RootForOwner("test")
		require.NoError(t, err)
		manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
		require.NoError(t, err)
		config := node.CgroupsConfig{PodCgroups: manager}
		if !counters {
			config.PodCgroups = managerWithoutCounters{manager}
		}
		var log bytes.Buffer
		b := nodetest.New(t, nodetest.Config{Seed: 1, Configure: func(c *node.Config) {
			c.Cgroups, c.Log = config, slog.New(slog.NewTextHandler(&log, nil))
		}})
		b.Apply(limitedPod("web", "1", "200Mi"))
		b.Run(time.Second)
		b.Crash()
		config.Release = true
		dir.Fail(func(call, name string) error {
			if call == "ReadDir" && path.Base(name) == "besteffort" {
				return syscall.EIO
			}
			return nil
		})
		b.Start()
		b.Apply(limitedPod("new", "1", "200Mi"))
		b.Run(time.Second)
		assert.Equal(t, v1.PodRunning, b.Pod("new").Status.Phase)
		const limit = "memory/podkeel-test/burstable/podweb/memory.limit_in_bytes"
		assert.Equal(t, map[bool]string{true: "9223372036854771712", false: "209715200"}[counters], cgroupFile(dir, limit))
		b.Run(time.Minute)
		assert.Equal(t, 1, strings.Count(log.String(), "cannot list the cgroups of earlier pods"))
		dir.Fail(nil)
		b.Run(2 * podsync.CgroupCheckPeriod)
		assert.Equal(t, "9223372036854771712", cgroupFile(dir, limit))
		assert.False(t, slices.ContainsFunc(dir.Groups(), func(g string) bool { return strings.Contains(g, "podnew") }))
		b.Stop()
	}
}

// RZ-51: the status of a pod with limits of its own has the limits of its cgroup: the former ones while the kernel refuses a
// smaller memory limit, the new ones afterwards, and the ones of the spec on a host without cgroups.
func TestCgroups_RZ51_PodStatus(t *testing.T) {
	ofPod := func(memory string, generation int64) *v1.Pod {
		p := limitedPod("web", "333m", "50Mi")
		p.Generation = generation
		p.Spec.Resources = &v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("333m"), v1.ResourceMemory: resource.MustParse("20Mi")},
			Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)},
		}
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("100m")
		return p
	}
	for _, mode := range []string{"v1", "v2", "none"} {
		config := cgroupstest.Config{Mode: mode}
		if mode == "none" {
			config = cgroupstest.Config{Mode: "v1", ReadOnly: true}
		}
		dir := cgroupstest.New(config)
		b := cgroupNode(t, dir)
		describe := func() string {
			s := b.Pod("web").Status
			require.NotNil(t, s.Resources)
			return s.AllocatedResources.Cpu().String() + " " + s.Resources.Requests.Cpu().String() + " " + s.Resources.Limits.Memory().String()
		}
		b.Apply(ofPod("200Mi", 1))
		b.Run(time.Second)
		assert.Equal(t, "333m 333m 200Mi", describe(), mode)
		if mode == "v1" {
			const usage = "/sys/fs/cgroup/memory/podkeel-test/burstable/podweb/memory.usage_in_bytes"
			dir.SetFile(usage, "157286400")
			b.Apply(ofPod("100Mi", 2))
			b.Run(time.Minute)
			assert.Equal(t, "333m 333m 200Mi", describe())
			assert.Zero(t, strings.Count(b.Transcript(), "event ResizeCompleted"))
			dir.SetFile(usage, "1000")
			b.Run(5 * time.Minute)
		} else {
			b.Apply(ofPod("100Mi", 2))
			b.Run(time.Second)
		}
		assert.Equal(t, "333m 333m 100Mi", describe(), mode)
		assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeCompleted"), mode)
		b.Stop()
	}
}

// CG-13: a pod that an agent without cgroups of pods has started stays where it runs: its containers are neither stopped
// nor moved. The pod has a cgroup with its limits from then on, which the next sandbox uses. A resize updates the
// container and the cgroup. The agent does not repeat anything.
func TestCgroups_CG13_EarlierPod(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	manager, err := cgroups.New(cgroups.Config{Root: root, Files: dir, Capabilities: cgroups.Probe(dir, root)})
	require.NoError(t, err)
	var config node.CgroupsConfig
	b := nodetest.New(t, nodetest.Config{Seed: 1, Configure: func(c *node.Config) { c.Cgroups = config }})
	p := limitedPod("web", "1", "200Mi")
	p.Generation = 1
	b.Apply(p)
	b.Run(time.Second)
	before := runningContainers(b.Machine())
	require.Len(t, before, 1)
	require.Empty(t, dir.Groups())

	b.Crash()
	config.PodCgroups = manager
	b.Start()
	b.Run(time.Minute)
	group := "podkeel-test/burstable/podweb/"
	values := func() []string {
		return []string{cgroupFile(dir, "cpu/"+group+"cpu.cfs_quota_us"), cgroupFile(dir, "memory/"+group+"memory.limit_in_bytes")}
	}
	assert.Equal(t, []string{"100000", "209715200"}, values())
	next := limitedPod("web", "2", "300Mi")
	next.Generation = 2
	b.Apply(next)
	b.Run(time.Minute)
	assert.Equal(t, []string{"200000", "314572800"}, values())
	assert.Equal(t, "allocated 500m has 500m/300Mi shares 512 memory 300", resizeOf(t, b, "web"))
	assert.Equal(t, before, runningContainers(b.Machine()))
	for event, count := range map[string]int{"StopContainer": 0, "StopSandbox": 0, "RunSandbox": 1, "event ResizeCompleted": 1, "event ResizeError": 0, "event FailedToCreatePodContainer": 0} {
		assert.Equal(t, count, strings.Count(b.Transcript(), event), event)
	}
	dir.Calls()
	b.Run(time.Minute)
	assert.LessOrEqual(t, len(dir.Calls()), 200, "the cgroup is not read all the time")
	b.Delete("web")
	b.Run(5 * time.Minute)
	assert.False(t, slices.ContainsFunc(dir.Groups(), func(g string) bool { return strings.Contains(g, "podweb") }), "%v", dir.Groups())
	b.Stop()
}
