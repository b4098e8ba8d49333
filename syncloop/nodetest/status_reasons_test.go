package nodetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// A Never pod that this node ends before all of its containers have run loses its
// sandbox to the kill. That is not why it has failed.
func TestReasons_OurKillIsNoLostSandbox(t *testing.T) {
	for name, tc := range map[string]struct {
		deadline int64
		end      func(t *testing.T, b *nodetest.Simulation, p *v1.Pod)
		want     string
	}{
		"evicted": {want: "Failed Evicted", end: func(t *testing.T, b *nodetest.Simulation, p *v1.Pod) {
			_, err := b.Node().Evict(p.UID, node.Eviction{})
			require.NoError(t, err)
		}},
		"deadline": {want: "Failed DeadlineExceeded", deadline: 5, end: func(*testing.T, *nodetest.Simulation, *v1.Pod) {}},
		"deleted": {want: "Failed ", end: func(_ *testing.T, b *nodetest.Simulation, p *v1.Pod) {
			deleted := p.DeepCopy()
			deleted.DeletionTimestamp = &metav1.Time{Time: b.Now()}
			b.Apply(deleted)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodetest.New(t, nodetest.Config{Seed: 1})
			p := newPod("p", []string{"true"}, []string{"serve"})
			p.Spec.RestartPolicy = v1.RestartPolicyNever
			p.Spec.Containers[1].Image = "missing:1"
			if tc.deadline > 0 {
				p.Spec.ActiveDeadlineSeconds = &tc.deadline
			}
			b.Machine().FailPulls("missing:1", errors.New("no such image"))
			b.Apply(p)
			var said []string
			b.Run(5 * time.Second)
			tc.end(t, b, p)
			for range 30 {
				b.Run(200 * time.Millisecond)
				for _, p := range b.Node().Pods() {
					if s := string(p.Status.Phase) + " " + p.Status.Reason; len(said) == 0 || said[len(said)-1] != s {
						said = append(said, s)
					}
				}
			}
			b.Stop()
			assert.Equal(t, []string{tc.want}, said[len(said)-1:], "all that was said: %q", said)
			assert.NotContains(t, said, "Failed SandboxLost")
		})
	}
}

// A pod that admission rejects has the quality of service that it would have had,
// also if its source does not say so, and the fields of others (PH-15).
func TestReasons_RejectedPodHasItsQOSClass(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Scheduling: node.SchedulingConfig{MaxPods: 1}}})
	b.Apply(newPod("first", []string{"serve"}))
	b.Run(time.Second)
	both := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}
	for _, tc := range []struct {
		name             string
		requests, limits v1.ResourceList
		want             v1.PodQOSClass
	}{
		{"guaranteed", both, both, v1.PodQOSGuaranteed},
		{"burstable", both, nil, v1.PodQOSBurstable},
		{"best-effort", nil, nil, v1.PodQOSBestEffort},
	} {
		p := newPod(tc.name, []string{"serve"})
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: tc.requests, Limits: tc.limits}
		p.Status.NominatedNodeName = "elsewhere"
		b.Apply(p)
		b.Run(time.Second)
		for _, is := range b.Node().Pods() {
			if is.UID == p.UID {
				assert.Equal(t, "OutOfpods", is.Status.Reason)
				assert.Equal(t, tc.want, is.Status.QOSClass, tc.name)
				assert.Equal(t, "elsewhere", is.Status.NominatedNodeName)
			}
		}
	}
	b.Stop()
}

// On a runtime that cannot update containers, changed resources touch no running container: the container continues,
// its status has its actual resources, and the next attempt gets the new ones.
func TestReasons_ChangedResourcesTouchNothingThatRuns(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Wrap: hideUpdater})
	cpu := func(q string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(q)} }
	p := newPod("web", []string{"serve"})
	p.Spec.Containers[0].Resources.Requests = cpu("1")
	b.Apply(p)
	b.Run(time.Second)
	before := runningContainers(b.Machine())
	now := p.DeepCopy()
	now.Spec.Containers[0].Resources.Requests = cpu("2")
	now.Spec.Containers[0].Resources.Limits = cpu("3")
	b.Apply(now)
	b.Run(time.Minute)
	assert.Equal(t, before, runningContainers(b.Machine()), "the same container")
	assert.NotContains(t, b.Transcript(), "StopContainer")
	is := b.Node().Pods()[0]
	assert.Equal(t, "2", is.Spec.Containers[0].Resources.Requests.Cpu().String(), "what is desired")
	has := is.Status.ContainerStatuses[0]
	assert.Equal(t, "1", has.AllocatedResources.Cpu().String())
	assert.Equal(t, "1", has.Resources.Requests.Cpu().String())
	assert.Empty(t, has.Resources.Limits)

	require.NoError(t, b.Machine().ExitContainer(newestContainer(t, b, "web", "c0"), 1))
	b.Run(time.Minute)
	has = b.Node().Pods()[0].Status.ContainerStatuses[0]
	assert.EqualValues(t, 1, has.RestartCount)
	assert.Equal(t, "2", has.AllocatedResources.Cpu().String())
	assert.Equal(t, "3", has.Resources.Limits.Cpu().String())
	b.Stop()
}

// Pods, Watch and a sink show a terminal status when no container of the pod runs, and not before
// (ST-17).
func TestReasons_AnEndIsShownWhenNothingRuns(t *testing.T) {
	for name, end := range map[string]func(b *nodetest.Simulation, p *v1.Pod) error{
		"evicted": func(b *nodetest.Simulation, p *v1.Pod) error {
			_, err := b.Node().Evict(p.UID, node.Eviction{Message: "the disk is full"})
			return err
		},
		"deadline": func(*nodetest.Simulation, *v1.Pod) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := nodetest.New(t, nodetest.Config{Seed: 1})
			p := newPod("web", []string{"serve"})
			p.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
			p.Spec.TerminationGracePeriodSeconds = new(int64(10))
			if name == "deadline" {
				p.Spec.ActiveDeadlineSeconds = new(int64(5))
			}
			b.Apply(p)
			var watched []string
			b.Go(func() {
				for state := range b.Node().Watch(t.Context()) {
					s := string(state.Pod.Status.Phase) + " " + state.Pod.Status.Reason
					if n := len(runningContainers(b.Machine())); n > 0 {
						s += " and runs"
					}
					if len(watched) == 0 || watched[len(watched)-1] != s {
						watched = append(watched, s)
					}
					if state.Pod.Status.Phase == v1.PodFailed {
						return
					}
				}
			})
			b.Run(5 * time.Second)
			require.NoError(t, end(b, p))
			for range 30 {
				b.Run(500 * time.Millisecond)
				status := b.Node().Pods()[0].Status
				if len(runningContainers(b.Machine())) > 0 {
					require.Equal(t, "Running ", string(status.Phase)+" "+status.Reason)
					require.Nil(t, podstatus.FindCondition(status.Conditions, v1.DisruptionTarget))
				}
			}
			status := b.Node().Pods()[0].Status
			require.Equal(t, v1.PodFailed, status.Phase)
			require.NotEmpty(t, status.Reason)
			require.Equal(t, name == "evicted", podstatus.FindCondition(status.Conditions, v1.DisruptionTarget) != nil)
			b.Stop()
			require.NotContains(t, watched, "Failed "+status.Reason+" and runs")
			require.Contains(t, watched, "Running  and runs")
			require.Equal(t, "Failed "+status.Reason, watched[len(watched)-1])
		})
	}
}
