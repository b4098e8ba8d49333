package nodetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestPreemption_NeedsNoWaiting: FitsWithout finds the pods to delete; the pod that is applied
// right after, be it in the same moment, waits until they have ended, and no pod that comes
// meanwhile takes the room. This holds whatever becomes of pods when the node is full.
func TestPreemption_NeedsNoWaiting(t *testing.T) {
	for name, full := range map[string]syncloop.WhenFull{"reject": syncloop.Reject, "wait": syncloop.Wait} {
		t.Run(name, func(t *testing.T) {
			b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{
				Scheduling: node.SchedulingConfig{WhenFull: full, Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}},
			}})
			for name, cpu := range map[string]string{"low": "1", "lower": "2", "other": "1"} {
				b.Apply(podIgnoringTerm(name, cpu))
			}
			b.Run(5 * time.Second)
			urgent := podIgnoringTerm("urgent", "3")
			assert.Error(t, b.Node().Scheduling().Fits(urgent))
			assert.Error(t, b.Node().Scheduling().FitsWithout(urgent, "uid-lower"))
			assert.NoError(t, b.Node().Scheduling().FitsWithout(urgent, "uid-lower", "uid-low", "uid-low", "unknown"))
			assert.Error(t, b.Node().Scheduling().Fits(urgent), "nothing has changed")

			b.Delete("uid-lower")
			b.Delete("uid-low")
			b.Apply(urgent)
			b.Run(10 * time.Second)
			b.Apply(podIgnoringTerm("thief", "1"))
			assert.Equal(t, "Pending AdmissionDeferred", podState(b, "uid-urgent"))
			b.Run(15 * time.Second)
			assert.Equal(t, "Pending AdmissionDeferred", podState(b, "uid-urgent"), "the others have a grace of 30 s")
			b.Run(10 * time.Second)
			b.AssertPhase("urgent", v1.PodRunning)
			b.AssertPhase("other", v1.PodRunning)
			if full == syncloop.Wait {
				b.AssertPhase("thief", v1.PodPending)
			} else {
				b.AssertPhase("thief", v1.PodFailed)
			}
			used := b.Node().Scheduling().Allocated()
			assert.Equal(t, "4", used.Cpu().String())
			b.Stop()
		})
	}
}

// podIgnoringTerm returns a pod that runs until the end of its grace period when it is stopped.
func podIgnoringTerm(name, cpu string) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

// TestPreemption_OfAPortAndAName: what a pod holds besides resources does not count either.
func TestPreemption_OfAPortAndAName(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: 1}}})
	held := podIgnoringTerm("web", "0")
	held.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	b.Apply(held)
	b.Run(5 * time.Second)
	again := held.DeepCopy()
	again.UID = "new"
	assert.ErrorContains(t, b.Node().Scheduling().Fits(again), "default/web is the name of another pod")
	assert.NoError(t, b.Node().Scheduling().FitsWithout(again, held.UID))
	b.Stop()
}

// TestPreemption_InOneMoment: a pod that was just preempted for another pod cannot be preempted again, both before and
// after the loop has taken the change. The Delete of a static pod does nothing.
func TestPreemption_InOneMoment(t *testing.T) {
	for name, end := range map[string]func(*nodetest.Simulation, types.UID){
		"delete": (*nodetest.Simulation).Delete,
		"evict":  func(b *nodetest.Simulation, uid types.UID) { _, _ = b.Node().Evict(uid, node.Eviction{}) },
	} {
		t.Run(name, func(t *testing.T) {
			fixed := source.NewHandle()
			b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{
				Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": fixed}},
			}})
			require.NoError(t, fixed.Replace([]*v1.Pod{podIgnoringTerm("static", "1")}))
			fixed.SetComplete()
			b.Apply(podIgnoringTerm("low", "1"))
			b.Apply(podIgnoringTerm("lower", "1"))
			b.Run(5 * time.Second)
			asked := func(gone ...types.UID) string {
				var fit *syncloop.FitError
				if !errors.As(b.Node().Scheduling().FitsWithout(podIgnoringTerm("second", "1"), gone...), &fit) {
					return "fits"
				}
				return map[bool]string{true: "waits", false: "refused"}[fit.Waits]
			}
			b.Node().Delete("uid-static")
			assert.Equal(t, "refused", asked())
			end(b, "uid-low")
			assert.Equal(t, "waits", asked())
			b.Apply(podIgnoringTerm("first", "1"))
			for range 2 {
				assert.Equal(t, "refused", asked("uid-low"))
				assert.Equal(t, "waits", asked("uid-lower"))
				used := b.Node().Scheduling().Allocated()
				assert.Equal(t, "3", used.Cpu().String(), "what waits has nothing")
				b.RunUntilIdle()
			}
			b.Stop()
		})
	}
}

// TestPreemption_OfOneThatWaits: a waiting pod that is deleted reserves no room, both before and after the loop has
// taken the deletion.
func TestPreemption_OfOneThatWaits(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{
		Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}, WhenFull: syncloop.Wait},
	}})
	b.Apply(podIgnoringTerm("low", "1"))
	b.Apply(podIgnoringTerm("waits", "2"))
	b.Run(5 * time.Second)
	require.Error(t, b.Node().Scheduling().Fits(podIgnoringTerm("second", "1")), "the other is before it")
	b.Delete("uid-waits")
	for range 2 {
		require.NoError(t, b.Node().Scheduling().Fits(podIgnoringTerm("second", "1")))
		b.RunUntilIdle()
	}
	b.Stop()
}
