package nodetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// sizedPod returns a pod whose container c requests cpu and has a limit of memory, and uses 100 MiB.
func sizedPod(name, cpu, memory string, generation int64) *v1.Pod {
	p := podOf(name, "run=forever memory=100Mi")
	p.Generation = generation
	p.Spec.Containers[0].Resources = v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)},
		Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)},
	}
	return p
}

// resizeNode is a node with 4 cpus.
func resizeNode(t *testing.T, wrap func(inner runtime.Runtime, clk clock.Clock) runtime.Runtime) *nodetest.Simulation {
	return nodetest.New(t, nodetest.Config{Seed: 1, Wrap: wrap, Node: node.Config{
		Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}},
	}})
}

// resizeOf describes what a pod requests, has in its status and has in the runtime, and its resize conditions.
func resizeOf(t *testing.T, b *nodetest.Simulation, name string) string {
	pod := b.Pod(name)
	require.NotNil(t, pod)
	require.NotEmpty(t, pod.Status.ContainerStatuses)
	s := pod.Status.ContainerStatuses[0]
	r, found := b.Machine().Resources(strings.TrimPrefix(s.ContainerID, "podkeel://"))
	require.True(t, found, s.ContainerID)
	text := fmt.Sprintf("allocated %s has %s/%s shares %d memory %d", s.AllocatedResources.Cpu(), s.Resources.Requests.Cpu(), s.Resources.Limits.Memory(), r.CPUShares, r.MemoryBytes>>20)
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodResizePending || c.Type == v1.PodResizeInProgress {
			text += fmt.Sprintf("; %s %s generation %d: %s", c.Type, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	return text
}

// A resize gives a running container its new resources at once, without a restart, and reports it.
func TestResize_Running(t *testing.T) {
	b := resizeNode(t, nil)
	b.Apply(sizedPod("web", "1", "200Mi", 1))
	b.Run(time.Second)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200", resizeOf(t, b, "web"))
	before := runningContainers(b.Machine())
	b.Apply(sizedPod("web", "2", "300Mi", 2))
	b.Run(time.Millisecond)
	assert.Equal(t, "allocated 2 has 2/300Mi shares 2048 memory 300", resizeOf(t, b, "web"))
	assert.Equal(t, before, runningContainers(b.Machine()), "the same container")
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeStarted"))
	b.Run(5 * time.Minute)
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeCompleted"))
	assert.NotContains(t, b.Transcript(), "StopContainer")
	b.Stop()
}

// RZ-23, RZ-25: a resize above the free cpus is deferred until another pod has gone, one above all cpus is
// infeasible. The other fields of the new spec count at once.
func TestResize_RZ23_Deferred(t *testing.T) {
	b := resizeNode(t, nil)
	b.Apply(sizedPod("web", "1", "200Mi", 1))
	b.Apply(sizedPod("other", "2", "200Mi", 1))
	b.Run(time.Second)
	b.Apply(sizedPod("web", "3", "200Mi", 2))
	b.Run(time.Second)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizePending Deferred generation 2: the node has not enough cpu: requested 3, used 2, capacity 4", resizeOf(t, b, "web"))
	b.Apply(sizedPod("web", "5", "200Mi", 3))
	b.Run(time.Second)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizePending Infeasible generation 3: the node has not enough cpu: requested 5, used 0, capacity 4", resizeOf(t, b, "web"))
	b.Apply(sizedPod("web", "4", "200Mi", 4))
	b.Run(time.Second)
	b.Delete("other")
	b.Run(time.Minute)
	assert.Equal(t, "allocated 4 has 4/200Mi shares 4096 memory 200", resizeOf(t, b, "web"))
	b.Stop()
}

// RZ-43: a memory limit below the memory in use is refused, with the condition Error and the old values, and is
// tried again until the memory is released.
func TestResize_RZ43_MemoryInUse(t *testing.T) {
	b := resizeNode(t, nil)
	p := sizedPod("web", "1", "200Mi", 1)
	b.Apply(p)
	b.Run(time.Second)
	b.Apply(sizedPod("web", "1", "50Mi", 2))
	b.Run(time.Minute)
	assert.Equal(t, "allocated 1 has 1/200Mi shares 1024 memory 200; PodResizeInProgress Error generation 2: cannot resize container c: cannot decrease memory limits: attempting to set the memory limit (52428800) below current usage (104857600)", resizeOf(t, b, "web"))
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeError"), "the error is recorded once")
	b.Apply(sizedPod("web", "1", "150Mi", 3))
	b.Run(5 * time.Minute)
	assert.Equal(t, "allocated 1 has 1/150Mi shares 1024 memory 150", resizeOf(t, b, "web"))
	b.Stop()
}

// RZ-34: a resource whose policy is RestartContainer restarts the container once, without a crash-loop delay.
func TestResize_RZ34_Restart(t *testing.T) {
	b := resizeNode(t, nil)
	p := sizedPod("web", "1", "200Mi", 1)
	policies := []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	p.Spec.Containers[0].ResizePolicy = policies
	b.Apply(p)
	b.Run(time.Second)
	next := sizedPod("web", "2", "300Mi", 2)
	next.Spec.Containers[0].ResizePolicy = policies
	b.Apply(next)
	b.Run(time.Minute)
	assert.Equal(t, "allocated 2 has 2/300Mi shares 2048 memory 300", resizeOf(t, b, "web"))
	assert.EqualValues(t, 1, b.Pod("web").Status.ContainerStatuses[0].RestartCount)
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeCompleted"))
	b.Stop()
}

// RZ-38: an error of the runtime leaves the old resources in the status. The next syncs try again.
func TestResize_RZ38_RuntimeError(t *testing.T) {
	faults, err := faulty.New(faulty.Config{})
	require.NoError(t, err)
	b := resizeNode(t, faults.Wrap)
	b.Apply(sizedPod("web", "1", "200Mi", 1))
	b.Run(time.Second)
	remove, err := faults.Add(faulty.Rule{Verb: faulty.UpdateContainer, Do: faulty.Fail})
	require.NoError(t, err)
	b.Apply(sizedPod("web", "2", "200Mi", 2))
	b.Run(5 * time.Minute)
	assert.Contains(t, resizeOf(t, b, "web"), "allocated 2 has 1/200Mi shares 1024 memory 200; PodResizeInProgress Error generation 2: cannot resize container c: ")
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeError"))
	remove()
	b.Run(5 * time.Minute)
	assert.Equal(t, "allocated 2 has 2/200Mi shares 2048 memory 200", resizeOf(t, b, "web"))
	b.Stop()
}

// An agent that crashes after a resize begins again where the resize was: the container has the new resources in
// the end, and does not restart.
func TestResize_Crash(t *testing.T) {
	for steps := range 40 {
		b := resizeNode(t, nil)
		b.Apply(sizedPod("web", "1", "200Mi", 1))
		b.Run(time.Second)
		before := runningContainers(b.Machine())
		b.Apply(sizedPod("web", "2", "300Mi", 2))
		for range steps {
			b.Step()
		}
		b.Crash()
		b.Start()
		b.Run(5 * time.Minute)
		assert.Equal(t, "allocated 2 has 2/300Mi shares 2048 memory 300", resizeOf(t, b, "web"), "a crash after %d steps", steps)
		assert.Equal(t, before, runningContainers(b.Machine()))
		b.Stop()
	}
}

// withoutUpdater is a runtime that cannot update running containers.
type withoutUpdater struct{ runtime.Runtime }

func (w withoutUpdater) Features() runtime.Features {
	f := runtime.FeaturesOf(w.Runtime)
	f.Updater = nil
	return f
}

// hideUpdater wraps a runtime so that it cannot update running containers.
func hideUpdater(inner runtime.Runtime, _ clock.Clock) runtime.Runtime { return withoutUpdater{inner} }

// RZ-20, RZ-53: an ordinary init container is resized while it runs, so before the pod is initialized. After it has
// completed, a resize of it changes the allocated resources only. Neither restarts it.
func TestResize_RZ20_RZ53_InitContainer(t *testing.T) {
	b := resizeNode(t, nil)
	withInit := func(cpu string, generation int64) *v1.Pod {
		p := sizedPod("web", "500m", "200Mi", generation)
		p.Spec.InitContainers = []v1.Container{{
			Name: "i", Image: "init:1", Command: []string{"sleep", "60"},
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
		}}
		return p
	}
	describe := func() string {
		s := b.Pod("web").Status.InitContainerStatuses[0]
		r, _ := b.Machine().Resources(strings.TrimPrefix(s.ContainerID, "podkeel://"))
		return fmt.Sprintf("allocated %s has %s shares %d restarts %d", s.AllocatedResources.Cpu(), s.Resources.Requests.Cpu(), r.CPUShares, s.RestartCount)
	}
	b.Apply(withInit("1", 1))
	b.Run(time.Second)
	assert.Equal(t, "allocated 1 has 1 shares 1024 restarts 0", describe())
	b.Apply(withInit("2", 2))
	b.Run(time.Second)
	assert.Equal(t, v1.PodPending, b.Pod("web").Status.Phase)
	assert.Equal(t, "allocated 2 has 2 shares 2048 restarts 0", describe())
	assert.Equal(t, 1, strings.Count(b.Transcript(), "event ResizeCompleted"))
	b.Run(2 * time.Minute)
	b.Apply(withInit("3", 3))
	b.Run(time.Minute)
	assert.Equal(t, v1.PodRunning, b.Pod("web").Status.Phase)
	assert.Equal(t, "allocated 3 has 3 shares 2048 restarts 0", describe())
	assert.Equal(t, 2, strings.Count(b.Transcript(), "event ResizeCompleted"))
	b.Stop()
}
