package nodetest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
	"github.com/podkeel/podkeel/runtime/faulty"
)

// Each of these stories is the smallest part of a seed of TestNodeResources that failed.

// faultyResizeRestarts is a resizeRestarts with faults of the runtime.
func faultyResizeRestarts(t *testing.T) (*resizeRestarts, *faulty.Faults) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	return newResizeRestartsWith(t, 1, faults.Wrap), faults
}

// RZ-14: the first listing of the runtime fails when the next agent starts. The saved resources count nevertheless: a
// resize that was deferred is not made because of the restart.
func TestResize_RZ14_ListingFails(t *testing.T) {
	r, faults := faultyResizeRestarts(t)
	r.Apply(sizedPod("web", "1", "200Mi", 1))
	r.Apply(sizedPod("other", "2", "200Mi", 1))
	r.Run(time.Second)
	r.Apply(sizedPod("web", "3", "200Mi", 2))
	r.Run(time.Second)
	r.crashAndRestart(func() {
		_, err := faults.Add(faulty.Rule{Verb: faulty.ListPods, Do: faulty.Fail, Times: 1})
		require.NoError(t, err)
	})
	r.runCheckingSums(time.Minute, "after the restart")
	assert.Contains(t, resizeOf(t, r.Simulation, "web"), "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizePending Deferred generation 2")
	r.Stop()
}

// RZ-38: a reply of the runtime is lost after it has resized a container, and the old resources are desired again. The
// container gets them, because the runtime says what it has.
func TestResize_RZ38_ReplyLost(t *testing.T) {
	r, faults := faultyResizeRestarts(t)
	r.Apply(sizedPod("web", "1", "200Mi", 1))
	r.Run(time.Second)
	_, err := faults.Add(faulty.Rule{Verb: faulty.UpdateContainer, Do: faulty.FailDone, Times: 1})
	require.NoError(t, err)
	r.Apply(sizedPod("web", "1", "400Mi", 2))
	r.Run(time.Second)
	r.Apply(sizedPod("web", "1", "200Mi", 3))
	r.Run(5 * time.Minute)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200", resizeOf(t, r.Simulation, "web"))
	r.Stop()
}

// RZ-42: a container was created and not started, and the agent crashes. Its pod has less memory when the next agent
// starts. The container is created again, because it would exceed its pod.
func TestResize_RZ42_CreatedBefore(t *testing.T) {
	r, faults := faultyResizeRestarts(t)
	_, err := faults.Add(faulty.Rule{Verb: faulty.StartContainer, Do: faulty.Fail, Times: 1})
	require.NoError(t, err)
	r.Apply(sizedPod("web", "1", "400Mi", 1))
	r.Run(100 * time.Millisecond)
	r.crashAndRestart(func() { r.Apply(sizedPod("web", "1", "200Mi", 2)) })
	r.Run(time.Minute)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200", resizeOf(t, r.Simulation, "web"))
	assert.Equal(t, 2, strings.Count(r.Transcript(), "CreateContainer c"), r.Transcript())
	assert.Equal(t, 1, strings.Count(r.Transcript(), "  StartContainer c\n"), r.Transcript())
	r.Stop()
}

// QR-1: the resources of a Guaranteed pod changed while no agent ran, so that the larger requests and limits of before
// and afterwards would make the pod Burstable. The pod keeps the cgroup of its class.
func TestCgroups_QR1_ClassIsFixed(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	guaranteed := func(cpu, memory string) *v1.Pod {
		p := limitedPod("web", cpu, memory)
		p.Spec.Containers[0].Resources.Requests = p.Spec.Containers[0].Resources.Limits.DeepCopy()
		return p
	}
	b.Apply(guaranteed("1", "300Mi"))
	b.Run(time.Second)
	b.Crash()
	b.Apply(guaranteed("2", "200Mi"))
	b.Start()
	b.Run(time.Minute)
	assert.False(t, slices.ContainsFunc(dir.Groups(), func(g string) bool { return strings.Contains(g, "burstable/podweb") }), "%v", dir.Groups())
	assert.Equal(t, "200000", cgroupFile(dir, "cpu/podkeel-test/podweb/cpu.cfs_quota_us"))
	assert.Equal(t, "209715200", cgroupFile(dir, "memory/podkeel-test/podweb/memory.limit_in_bytes"))
	b.Stop()
}

// RZ-42: the limits of a pod as a whole are lowered while an init container runs, which has no limits of its
// own. It gets the new ones together with its pod.
func TestCgroups_RZ42_InitContainerRuns(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	b := cgroupNode(t, dir)
	p := withInit(podOf("web", "run=forever"), "i: run=10s exit=0")
	amounts := func(cpu, memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	p.Spec.Resources = &v1.ResourceRequirements{Requests: amounts("500m", "500Mi"), Limits: amounts("2", "1000Mi")}
	b.Apply(p)
	b.Run(time.Second)
	p = p.DeepCopy()
	p.Generation, p.Spec.Resources.Limits = 2, amounts("1", "500Mi")
	b.Apply(p)
	b.Run(time.Second)
	assert.Equal(t, "100000", cgroupFile(dir, "cpu/podkeel-test/burstable/podweb/cpu.cfs_quota_us"))
	has, _ := b.Machine().Resources(newestContainer(t, b, "web", "i"))
	assert.Equal(t, 100*time.Millisecond, has.CPUQuota)
	b.Stop()
}
