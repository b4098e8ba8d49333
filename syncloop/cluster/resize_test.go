package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/syncloop/node"
)

// withCPU sets the cpu request of a pod's container.
func withCPU(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
	}
}

// resize requests an amount of cpu for a pod, as a client of pods/resize does.
func (h *harness) resize(name, cpu string) {
	h.Helper()
	require.NoError(h, h.server.Admin().EditPod("default", name, withCPU(cpu)))
}

// resizeStatus describes the resources and the resize conditions of a pod at the server, and the container.
func (h *harness) resizeStatus(name string) string {
	h.Helper()
	pod := h.server.Admin().Pod("default", name)
	require.NotEmpty(h, pod.Status.ContainerStatuses)
	s := pod.Status.ContainerStatuses[0]
	require.NotNil(h, s.Resources)
	r, found := h.machine.Resources(s.ContainerID[strings.LastIndex(s.ContainerID, "/")+1:])
	require.True(h, found)
	text := fmt.Sprintf("allocated %s has %s shares %d restarts %d observed %d", s.AllocatedResources.Cpu(), s.Resources.Requests.Cpu(), r.CPUShares, s.RestartCount, pod.Status.ObservedGeneration)
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodResizePending || c.Type == v1.PodResizeInProgress {
			text += fmt.Sprintf("; %s %s generation %d", c.Type, c.Reason, c.ObservedGeneration)
		}
	}
	return text
}

// resizingCluster is a node with 4 cpus that stores allocated resources, and the pods web and other.
func resizingCluster(t *testing.T) *harness {
	h := simulate(t, 1)
	root := t.TempDir()
	h.edit = func(c *node.Config) {
		c.Scheduling.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("10")}
		store, err := checkpoint.NewResources(checkpoint.Config{Root: root})
		require.NoError(t, err)
		c.Pods.AllocatedResources = store
	}
	h.start()
	h.bind("web", withCPU("1"))
	h.bind("other", withCPU("2"))
	h.after(10 * time.Second)
	require.Equal(t, "allocated 1 has 1 shares 1024 restarts 0 observed 1", h.resizeStatus("web"))
	return h
}

// RZ-25, RZ-29, RZ-46, RZ-52: resizes from an API server. One that fits takes effect at once, one above the free
// cpus is deferred, also across a crash of the node, one above all cpus is infeasible. The conditions and the
// status have the generation that they are about.
func TestCluster_RZ29_Resize(t *testing.T) {
	h := resizingCluster(t)
	h.resize("web", "2")
	h.after(time.Second)
	assert.Equal(t, "allocated 2 has 2 shares 2048 restarts 0 observed 2", h.resizeStatus("web"))
	h.resize("web", "3")
	h.after(time.Second)
	const deferred = "allocated 2 has 2 shares 2048 restarts 0 observed 3; PodResizePending Deferred generation 3"
	assert.Equal(t, deferred, h.resizeStatus("web"))
	h.crash()
	h.start()
	h.after(time.Minute)
	assert.Equal(t, deferred, h.resizeStatus("web"))
	h.resize("web", "5")
	h.after(time.Second)
	assert.Equal(t, "allocated 2 has 2 shares 2048 restarts 0 observed 4; PodResizePending Infeasible generation 4", h.resizeStatus("web"))
	h.resize("web", "2")
	h.after(time.Second)
	assert.Equal(t, "allocated 2 has 2 shares 2048 restarts 0 observed 5", h.resizeStatus("web"), "the allocated resources are requested again")
	h.resize("web", "4")
	h.after(time.Second)
	h.resize("other", "1")
	h.after(time.Second)
	assert.Equal(t, "allocated 2 has 2 shares 2048 restarts 0 observed 6; PodResizePending Deferred generation 6", h.resizeStatus("web"))
	h.delete("other", new(int64(1)))
	h.after(time.Minute)
	assert.Equal(t, "allocated 4 has 4 shares 4096 restarts 0 observed 6", h.resizeStatus("web"))
	reasons := map[string]int{}
	for _, e := range h.server.Admin().Events() {
		if e.InvolvedObject.Name == "web" && strings.HasPrefix(e.Reason, "Resize") {
			reasons[e.Reason]++
		}
	}
	assert.Positive(t, reasons["ResizeStarted"])
	assert.Positive(t, reasons["ResizeCompleted"])
	assert.Positive(t, reasons["ResizeDeferred"])
	assert.Positive(t, reasons["ResizeInfeasible"])
	assert.Zero(t, reasons["ResizeError"])
}

// RZ-49: a second resize while the node performs the first one. The node crashes at 20 different moments of
// the story. In the end the container has the last resources, without a restart.
func TestCluster_RZ49_SecondResizeAndCrash(t *testing.T) {
	for k := range 20 {
		h := resizingCluster(t)
		h.resize("web", "2")
		for range k {
			h.after(100 * time.Microsecond)
		}
		h.resize("other", "1")
		h.resize("web", "3")
		for range k {
			h.after(100 * time.Microsecond)
		}
		h.crash()
		h.start()
		h.after(2 * time.Minute)
		assert.Equal(t, "allocated 3 has 3 shares 3072 restarts 0 observed 3", h.resizeStatus("web"), "crash %d", k)
		assert.Equal(t, "allocated 1 has 1 shares 1024 restarts 0 observed 2", h.resizeStatus("other"), "crash %d", k)
	}
}
