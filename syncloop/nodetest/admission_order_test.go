package nodetest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// crowd is a node of four cpus with so many pods that some wait. It also has the test's own record of the pods.
type crowd struct {
	t *testing.T
	*rand.Rand
	*nodetest.Simulation
	seed    uint64
	pods    []*v1.Pod // desired, in order of arrival
	waiting map[types.UID]bool
	begun   map[types.UID]bool
	came    int
}

const cpus = 4

// TestFull_Order: with pods of random sizes, priorities and lengths of life, over crashes of
// the agent, there is never more in use than the node has, the first of the waiting pods
// waits only while it does not fit, and no pod is admitted before one that precedes it.
// In the end each of them has run.
func TestFull_Order(t *testing.T) {
	for seed := range uint64(longtest.Count(2, 12)) {
		c := &crowd{t: t, Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, begun: map[types.UID]bool{}}
		c.Simulation = nodetest.New(t, nodetest.Config{Seed: seed, Node: node.Config{
			Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI)}, WhenFull: syncloop.Wait},
		}})
		for range 40 {
			c.takeAction()
			c.runSteps(time.Duration(c.IntN(4000)) * time.Millisecond)
		}
		for range 200 {
			if c.waitingNow(); len(c.waiting) == 0 {
				break
			}
			c.Run(5 * time.Second)
		}
		require.Empty(t, c.waiting, "seed %d: a wake is lost", seed)
		c.Stop()
	}
}

// takeAction applies pods, deletes a pod, or replaces a crashed agent.
func (c *crowd) takeAction() {
	switch n := c.IntN(10); {
	case n < 6:
		for range 1 + c.IntN(3) {
			c.applyPod()
		}
	case n < 8 && len(c.pods) > 0:
		gone := c.IntN(len(c.pods))
		c.Delete(c.pods[gone].UID)
		delete(c.waiting, c.pods[gone].UID)
		c.pods = slices.Delete(c.pods, gone, gone+1)
	case n == 8:
		c.Crash()
		c.Start()
		c.waiting = nil
		c.waitingNow()
	}
}

// applyPod applies a pod that runs for some seconds.
func (c *crowd) applyPod() {
	p := newPod(fmt.Sprint("p", c.came), []string{"serve"})
	c.came++
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.TerminationGracePeriodSeconds = new(int64(1 + c.IntN(8)))
	p.Annotations = map[string]string{"memory.podkeel.dev/c0": fmt.Sprintf("run=%ds exit=0 ignore-term", 1+c.IntN(12))}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(1+c.IntN(cpus)), resource.DecimalSI)}
	p.Spec.Priority = new(int32([]int{-1, 0, 0, 0, 1}[c.IntN(5)]))
	c.pods = append(c.pods, p)
	c.Apply(p)
}

// runSteps runs the node step by step for d and calls checkOrder after each step.
func (c *crowd) runSteps(d time.Duration) {
	for end := c.Now().Add(d); c.Now().Before(end); {
		c.StepUntil(end)
		c.checkOrder()
	}
	c.Run(0)
	c.checkOrder()
	if first := c.firstWaiting(); first != nil && c.Node().Health().Waiting == nil {
		used := c.Node().Scheduling().Allocated()
		require.Greater(c.t, used.Cpu().Value()+cpuOf(first), int64(cpus), "seed %d at %s: %s is the first to wait, and fits", c.seed, c.Now(), first.Name)
	}
}

// checkOrder compares the waiting pods with the pods that waited before this step.
func (c *crowd) checkOrder() {
	before := c.waiting
	begun := c.waitingNow()
	running := int64(0)
	for _, seen := range c.Machine().Snapshot() {
		if i := slices.IndexFunc(c.pods, func(p *v1.Pod) bool { return p.UID == seen.UID }); i >= 0 && seen.MayRun() {
			running += cpuOf(c.pods[i])
		}
	}
	require.LessOrEqual(c.t, running, int64(cpus), "seed %d at %s: too many run", c.seed, c.Now())
	for i, p := range c.pods {
		if !begun[p.UID] || c.begun[p.UID] {
			continue
		}
		c.begun[p.UID] = true
		for j, q := range c.pods {
			if c.waiting[q.UID] && before[q.UID] && (*q.Spec.Priority > *p.Spec.Priority || *q.Spec.Priority == *p.Spec.Priority && j < i) {
				require.Fail(c.t, "overtaken", "seed %d at %s: %s waits, and %s has begun", c.seed, c.Now(), q.Name, p.Name)
			}
		}
	}
}

// waitingNow finds who waits now, and returns who was admitted and does something.
func (c *crowd) waitingNow() (begun map[types.UID]bool) {
	c.waiting, begun = map[types.UID]bool{}, map[types.UID]bool{}
	for _, p := range c.Node().Pods() {
		require.NotEqual(c.t, v1.PodFailed, p.Status.Phase, "seed %d: %s: %s", c.seed, p.Name, p.Status.Message)
		switch waits := p.Status.Reason == v1.PodReasonUnschedulable || p.Status.Reason == syncloop.ReasonAdmissionDeferred; {
		case waits && p.DeletionTimestamp == nil:
			c.waiting[p.UID] = true
		case !waits:
			begun[p.UID] = p.Status.Phase != v1.PodPending || len(p.Status.ContainerStatuses) > 0
		}
	}
	return begun
}

// firstWaiting returns the waiting pod that must be admitted first.
func (c *crowd) firstWaiting() *v1.Pod {
	var waiting []*v1.Pod
	for _, p := range c.pods {
		if c.waiting[p.UID] {
			waiting = append(waiting, p)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return slices.MinFunc(waiting, func(a, b *v1.Pod) int { return cmp.Compare(*b.Spec.Priority, *a.Spec.Priority) })
}

func cpuOf(p *v1.Pod) int64 {
	return p.Spec.Containers[0].Resources.Requests.Cpu().Value()
}

// TestFull_Condition: a pod that waits for room has the condition of a pod for which a scheduler
// finds no node, until it is admitted.
func TestFull_Condition(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: 1, WhenFull: syncloop.Wait}}})
	b.Apply(newPod("first", []string{"serve"}))
	b.Apply(newPod("second", []string{"serve"}))
	scheduled := func() string {
		for _, c := range b.Pod("second").Status.Conditions {
			if c.Type == v1.PodScheduled {
				return fmt.Sprint(c.Status, " ", c.Reason)
			}
		}
		return ""
	}
	b.Run(time.Second)
	require.Equal(t, "False Unschedulable", scheduled())
	b.Delete("uid-first")
	b.RunUntil(func() bool { return b.Status("second") == "1/1 Running restarts=0" })
	require.Equal(t, "True ", scheduled())
	b.Stop()
}
