package prober_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
)

// runningStatus returns the status of a running container c, with started and ready set, as package plan computes it.
func runningStatus(id string) v1.ContainerStatus {
	yes := true
	return v1.ContainerStatus{
		Name: "c", ContainerID: id, Started: &yes, Ready: true,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
	}
}

// describeUpdate returns the fields started and ready of a status after UpdatePodStatus.
func (w *harness) describeUpdate(pod *v1.Pod, s v1.ContainerStatus) string {
	status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{s}}
	w.p.UpdatePodStatus(pod, &status)
	return fmt.Sprintf("started=%v ready=%v", *status.ContainerStatuses[0].Started, status.ContainerStatuses[0].Ready)
}

const (
	neither = "started=false ready=false"
	started = "started=true ready=false"
	both    = "started=true ready=true"
)

func TestUpdatePodStatus_PR15_PR16(t *testing.T) {
	for probes, want := range map[string]struct{ added, probed string }{
		"": {both, both}, "l": {both, both}, "r": {started, both}, "s": {neither, both}, "rs": {neither, both},
	} {
		w, s, _ := newSimulation(t)
		pod := aPod("a", probes)
		assert.Equal(t, want.added, w.describeUpdate(pod, runningStatus("1")), "%q, of a pod that was not added", probes)
		w.observeStart("a", "1")
		assert.Equal(t, want.added, w.describeUpdate(pod, runningStatus("1")), "%q, of a pod that was only seen", probes)
		w.p.AddPod(pod)
		assert.Equal(t, want.added, w.describeUpdate(pod, runningStatus("1")), probes)
		s.RunUntil(timeAfter(30 * time.Second))
		assert.Equal(t, want.probed, w.describeUpdate(pod, runningStatus("1")), probes)
		if probes != "" {
			assert.Equal(t, want.added, w.describeUpdate(pod, runningStatus("2")), "%q, of another container", probes)
		}
		assert.Equal(t, neither, w.describeUpdate(pod, v1.ContainerStatus{Name: "c", ContainerID: "1", Ready: true}), "not running")
	}
}

func TestUpdatePodStatus_PR14_ProbesAtOnce(t *testing.T) {
	w, s, _ := newSimulation(t)
	pod := aPod("a", "r")
	w.setResult("a/c/Readiness", "error")
	w.p.AddPod(pod)
	w.observeStart("a", "1")
	s.RunUntil(timeAfter(2 * time.Second))
	w.setResult("a/c/Readiness", "pass")
	assert.Equal(t, started, w.describeUpdate(pod, runningStatus("1")))
	s.RunUntil(timeAfter(2 * time.Second))
	assert.Equal(t, both, w.describeUpdate(pod, runningStatus("1")))
}

func TestUpdatePodStatus_PR17_InitContainers(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	w, s, _ := newSimulation(t)
	pod := aPod("a", "")
	pod.Spec.InitContainers = []v1.Container{
		{Name: "done"}, {Name: "failed"}, {Name: "runs"},
		{Name: "side", ReadinessProbe: &v1.Probe{}, RestartPolicy: &always},
	}
	named := func(name string, s v1.ContainerStatus) v1.ContainerStatus { s.Name = name; return s }
	exited := func(code int32) v1.ContainerStatus {
		return v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}}
	}
	status := v1.PodStatus{InitContainerStatuses: []v1.ContainerStatus{
		named("done", exited(0)), named("failed", exited(1)), named("runs", runningStatus("1")), named("side", runningStatus("2")),
	}}
	w.p.AddPod(pod)
	w.p.Observe("a", prober.FromStatus(&status))
	judged := func() string {
		w.p.UpdatePodStatus(pod, &status)
		var all []string
		for _, c := range status.InitContainerStatuses {
			all = append(all, fmt.Sprintf("%s %v %v", c.Name, *c.Started, c.Ready))
		}
		return strings.Join(all, ", ")
	}
	assert.Equal(t, "done false true, failed false false, runs true false, side true false", judged())
	s.RunUntil(timeAfter(time.Second))
	assert.Equal(t, "done false true, failed false false, runs true false, side true true", judged())
}

// PR-5: a restarted agent keeps the published readiness of old containers.
func TestUpdatePodStatus_PR5_AgentRestart(t *testing.T) {
	w, s, _ := newSimulation(t)
	pod := aPod("a", "rs")
	old := runningStatus("1")
	old.State.Running.StartedAt = metav1.NewTime(start.Add(-time.Hour))
	w.p.AddPod(pod)
	w.p.Observe("a", prober.FromStatus(&v1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []v1.ContainerStatus{old}}))
	assert.Equal(t, both, w.describeUpdate(pod, runningStatus("1")))
	w.setResult("a/c/Readiness", "fail")
	s.RunUntil(timeAfter(14 * time.Second))
	assert.Equal(t, both, w.describeUpdate(pod, runningStatus("1")), "one failure is not enough")
	s.RunUntil(timeAfter(16 * time.Second))
	assert.Equal(t, started, w.describeUpdate(pod, runningStatus("1")))
}
