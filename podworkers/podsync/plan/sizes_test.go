package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/proportion"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// A nil argument counts as an empty one, and no function panics.
func TestNothingIsGiven(t *testing.T) {
	d := plan.Decide(nil, nil, plan.Input{})
	assert.Empty(t, d.Starts(nil))
	assert.Empty(t, d.Contradictions(nil, nil, 0))
	assert.Equal(t, d.Steps, plan.Decide(&v1.Pod{}, &runtime.PodStatus{}, plan.Input{Published: &v1.PodStatus{}}).Steps)
	assert.Equal(t, plan.Status(plan.StatusInput{Pod: &v1.Pod{}}), plan.Status(plan.StatusInput{}))
	assert.Equal(t, v1.PodPending, podstatus.Conclude(nil, v1.PodStatus{}, podstatus.Observed{}).Phase)
	var m plan.Memory
	for op := range plan.StartContainer + 2 {
		s := plan.Step{Op: op}
		m.RecordAttempt(s, time.Time{}).RecordStage(s, plan.StageCreating, "", time.Time{}).RecordStage(s, plan.StageCreated, "", epoch).RecordStage(s, plan.StageFailed, "", time.Time{}).RecordStage(s, plan.StageRefused, "", time.Time{})
	}
	m.Created(plan.Made{}).SetWaitingReason("", plan.Reason{}).Replacing("", "")
}

// reversedStatuses returns a pod with n containers that have crashed and are being started. Their statuses
// are in the reverse order.
func reversedStatuses(n int) (in plan.StatusInput, d plan.Decision) {
	in = plan.StatusInput{Pod: &v1.Pod{}, Runtime: &runtime.PodStatus{}, Old: &v1.PodStatus{}}
	in.Runtime.Sandboxes = []runtime.SandboxStatus{{Sandbox: runtime.Sandbox{ID: "s", Ready: true}, IPs: []string{"10.0.0.1"}}}
	for i := range n {
		name := fmt.Sprintf("c%06d", n-i)
		in.Pod.Spec.Containers = append(in.Pod.Spec.Containers, v1.Container{Name: name})
		in.Runtime.Containers = append(in.Runtime.Containers, runtime.ContainerStatus{
			Container: runtime.Container{ID: name, Name: name, SandboxID: "s", State: runtime.StateExited}, ExitCode: 1, FinishedAt: epoch,
		})
	}
	for i := range n {
		name := fmt.Sprintf("c%06d", i+1)
		in.Old.ContainerStatuses = append(in.Old.ContainerStatuses, v1.ContainerStatus{Name: name, ContainerID: "://" + name})
	}
	in.Memory = plan.Decide(in.Pod, in.Runtime, plan.Input{Now: epoch}).Memory
	for i := range n / 2 { // Every other one is delayed by its crash loop.
		s := plan.Step{Op: plan.StartContainer, Name: in.Pod.Spec.Containers[2*i].Name, Container: &in.Pod.Spec.Containers[2*i]}
		in.Memory = in.Memory.RecordAttempt(s, epoch)
	}
	d = plan.Decide(in.Pod, in.Runtime, plan.Input{Now: epoch.Add(time.Second), Memory: in.Memory})
	in.Starting = d.Steps
	return in, d
}

// Pods with thousands of containers take time in proportion.
func TestSizes(t *testing.T) {
	const few, times = 250, 20
	small, smallDecision := reversedStatuses(few)
	large, largeDecision := reversedStatuses(few * times)
	assert.Len(t, largeDecision.Held, few*times/2)
	for name, work := range map[string]func(in plan.StatusInput, d *plan.Decision){
		"Status": func(in plan.StatusInput, _ *plan.Decision) { plan.Status(in) },
		"Starts": func(in plan.StatusInput, d *plan.Decision) { d.Starts(in.Pod) },
		"Decide": func(in plan.StatusInput, _ *plan.Decision) {
			plan.Decide(in.Pod, in.Runtime, plan.Input{Now: epoch, Memory: in.Memory, Published: in.Old})
		},
		"Conclude": func(in plan.StatusInput, _ *plan.Decision) {
			var names []string
			for i := range in.Starting {
				names = append(names, in.Starting[i].Name)
			}
			podstatus.Conclude(in.Pod, *in.Old, podstatus.Observed{Restarting: names, Outdated: names})
		},
		"Attempted": func(in plan.StatusInput, d *plan.Decision) {
			m := in.Memory
			for _, s := range d.Steps {
				m = m.RecordAttempt(s, epoch).RecordStage(s, plan.StageCreating, "", epoch).RecordStage(s, plan.StageCreated, s.Name, epoch).Replacing(s.Name, s.Name)
			}
			stops := plan.Decision{Memory: m}
			for _, s := range d.Steps {
				stops.Steps = append(stops.Steps, plan.Step{Op: plan.StopContainer, ID: s.Name, Reason: plan.WhySpecChanged})
			}
			stops.Contradictions(in.Pod, in.Runtime, 0)
			m.RecordObservation().HasUnpublishedStart()
			m.RecordObservation().RecordPublished(in.Old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			proportion.Check(t, func() { work(small, &smallDecision) }, func() { work(large, &largeDecision) }, times)
		})
	}
}
