package nodetest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
)

// resizeHistory is one random sequence of resizes, with other pods, crashes and faults of the runtime.
type resizeHistory struct {
	*resizeRestarts
	random    *rand.Rand
	faults    *faulty.Faults
	desired   map[string]*v1.Pod           // by name
	allocated map[types.UID]map[int64]bool // by UID: every amount of cpu that was allocated, in thousandths
	created   map[string]bool              // by ID: the containers that were seen
	names     int                          // how many pods there have been
}

// TestResize_RZ14_RZ27_RZ49_Histories runs random histories of resizes. At every step the allocated cpus fit on the
// node, and no container is created with resources that were never allocated to its pod. In the end every container
// has the allocated resources, and a resize is pending only if it does not fit.
func TestResize_RZ14_RZ27_RZ49_Histories(t *testing.T) {
	for seed := range uint64(longtest.Count(30, 60)) {
		// Each history is a test of its own, so that its memory is free afterwards.
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runResizeHistory(t, seed) })
	}
}

// runResizeHistory runs the history of one seed.
func runResizeHistory(t *testing.T, seed uint64) {
	h := &resizeHistory{
		random: rand.New(rand.NewPCG(seed, 2)), desired: map[string]*v1.Pod{},
		allocated: map[types.UID]map[int64]bool{}, created: map[string]bool{},
	}
	var err error
	h.faults, err = faulty.New(faulty.Config{})
	require.NoError(t, err)
	h.resizeRestarts = newResizeRestartsWith(t, seed, h.faults.Wrap)
	var endFault func()
	for range 30 {
		switch h.random.IntN(10) {
		case 0, 1:
			h.names++
			h.applyPod(fmt.Sprintf("p%d", h.names), 1)
		case 2:
			if name := h.randomName(); name != "" {
				delete(h.desired, name)
				h.Delete(types.UID(name))
			}
		case 3:
			h.crashAndRestart(func() {
				if h.random.IntN(2) == 0 {
					h.resizeRandomPod()
				}
			})
		case 4:
			if endFault != nil {
				endFault()
			}
			endFault, err = h.faults.Add(faulty.Rule{Verb: faulty.UpdateContainer, Do: faulty.Fail})
			require.NoError(t, err)
		case 5:
			if endFault != nil {
				endFault()
			}
			endFault = nil
		default:
			h.resizeRandomPod()
		}
		h.runChecked(time.Duration(h.random.IntN(3000))*time.Millisecond, seed)
	}
	if endFault != nil {
		endFault()
	}
	h.runChecked(10*time.Minute, seed)
	h.checkFinal(seed)
	if t.Failed() {
		t.Fatalf("seed %d:\n%s", seed, h.Transcript())
	}
	h.Stop()
}

// applyPod applies a pod with a random request and limit.
func (h *resizeHistory) applyPod(name string, generation int64) {
	cpu, memory := fmt.Sprintf("%dm", 100*(1+h.random.IntN(20))), fmt.Sprintf("%dMi", 150+50*h.random.IntN(5))
	if generation > 1 && h.random.IntN(8) == 0 {
		cpu = "5" // It can never fit.
	}
	pod := sizedPod(name, cpu, memory, generation)
	if before := h.desired[name]; before != nil {
		pod.Spec.Containers[0].ResizePolicy = before.Spec.Containers[0].ResizePolicy
	} else if h.random.IntN(4) == 0 {
		pod.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
	}
	h.desired[name] = pod
	h.Apply(pod)
}

// randomName returns the name of a desired pod, or "".
func (h *resizeHistory) randomName() string {
	if h.names == 0 {
		return ""
	}
	name := fmt.Sprintf("p%d", 1+h.random.IntN(h.names))
	if h.desired[name] == nil {
		return ""
	}
	return name
}

// resizeRandomPod requests other resources for a desired pod.
func (h *resizeHistory) resizeRandomPod() {
	if name := h.randomName(); name != "" {
		h.applyPod(name, h.desired[name].Generation+1)
	}
}

// runChecked runs the simulation step by step, and checks the invariants after each step.
func (h *resizeHistory) runChecked(d time.Duration, seed uint64) {
	h.t.Helper()
	for end := h.Now().Add(d); h.Now().Before(end); {
		h.StepUntil(end)
		var sum int64
		for _, p := range h.Node().Pods() {
			cpu := p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			if h.allocated[p.UID] == nil {
				h.allocated[p.UID] = map[int64]bool{}
			}
			h.allocated[p.UID][cpu] = true
			if len(p.Status.ContainerStatuses) > 0 && p.Status.Reason == "" {
				sum += cpu
			}
		}
		require.LessOrEqual(h.t, sum, int64(4000), "seed %d: the allocated cpus\n%s", seed, h.Transcript())
		for _, p := range h.Machine().Snapshot() {
			for _, c := range p.Containers {
				if !h.created[c.ID] && c.State != runtime.StateExited {
					h.created[c.ID] = true
					require.True(h.t, h.hadShares(p.UID, c.ID), "seed %d: container %s of %s was created with resources that were never allocated\n%s", seed, c.ID, p.Name, h.Transcript())
				}
			}
		}
	}
}

// hadShares reports whether the cpu shares of a container are the ones of any amount that was allocated to its pod.
func (h *resizeHistory) hadShares(uid types.UID, containerID string) bool {
	r, found := h.Machine().Resources(containerID)
	if !found {
		return true
	}
	for cpu := range h.allocated[uid] {
		if podresources.SharesFromMilliCPU(cpu) == int64(r.CPUShares) {
			return true
		}
	}
	return false
}

// checkFinal checks every pod when nothing changes any longer: a running container has the allocated resources in
// the runtime and in the status, and a pod without the desired resources has a pending resize.
func (h *resizeHistory) checkFinal(seed uint64) {
	h.t.Helper()
	for _, p := range h.Node().Pods() {
		if p.Status.Phase != v1.PodRunning {
			continue
		}
		allocated, want := p.Spec.Containers[0].Resources, h.desired[p.Name].Spec.Containers[0].Resources
		s := p.Status.ContainerStatuses[0]
		r, _ := h.Machine().Resources(s.ContainerID[len("podkeel://"):])
		pending := false
		for _, c := range p.Status.Conditions {
			pending = pending || c.Type == v1.PodResizePending
			assert.NotEqual(h.t, v1.PodResizeInProgress, c.Type, "seed %d: %s", seed, p.Name)
		}
		assert.EqualValues(h.t, podresources.SharesFromMilliCPU(allocated.Requests.Cpu().MilliValue()), r.CPUShares, "seed %d: %s", seed, p.Name)
		assert.Equal(h.t, allocated.Limits.Memory().Value(), r.MemoryBytes, "seed %d: %s", seed, p.Name)
		assert.Zero(h.t, allocated.Requests.Cpu().Cmp(*s.Resources.Requests.Cpu()), "seed %d: %s", seed, p.Name)
		same := allocated.Requests.Cpu().Cmp(*want.Requests.Cpu()) == 0 && allocated.Limits.Memory().Cmp(*want.Limits.Memory()) == 0
		assert.Equal(h.t, !same, pending, "seed %d: %s", seed, p.Name)
		if pending {
			var others int64
			for _, other := range h.Node().Pods() {
				if other.UID != p.UID && other.Status.Phase == v1.PodRunning {
					others += other.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
				}
			}
			next := want.Requests.Cpu().MilliValue()
			assert.Greater(h.t, others+next, int64(4000), "seed %d: the resize of %s to %dm fits", seed, p.Name, next)
		}
	}
}
