package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// A start that no status has shown yet counts as published once the pod was observed after it: a
// container that may run once, and whose record is lost, does not run again.
func TestMemory_UnpublishedStart(t *testing.T) {
	w := newHarness(t, "pod policy=Never\nsandbox 0 ready")
	in := w.planInput()
	in.Published = &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}}}}
	before := in.Published.DeepCopy()
	d := plan.Decide(w.pod, w.st, in)
	require.Equal(t, plan.StartContainer, d.Steps[0].Op)
	in.Memory = d.Memory.RecordAttempt(d.Steps[0], epoch).RecordStage(d.Steps[0], plan.StageCreated, "a0", epoch)

	assert.False(t, in.Memory.HasUnpublishedStart(), "the pod was not observed since")
	assert.False(t, plan.HasVanishedContainer(w.st, in))
	in.Memory = in.Memory.RecordObservation()
	assert.True(t, in.Memory.HasUnpublishedStart())
	assert.True(t, plan.HasVanishedContainer(w.st, in))
	again := plan.Decide(w.pod, w.st, in)
	require.Len(t, again.Steps, 1)
	assert.Equal(t, plan.StopPod, again.Steps[0].Op, "nothing is left to run")
	status := w.statusInput(false)
	status.Old, status.Memory = in.Published.DeepCopy(), in.Memory
	c := plan.Status(status).ContainerStatuses[0]
	assert.Equal(t, int32(137), c.State.Terminated.ExitCode)
	assert.Equal(t, "test://a0", c.State.Terminated.ContainerID)
	assert.Equal(t, before, in.Published, "the published status is only read")

	c.ContainerID = "test://a0"
	for name, shown := range map[string]v1.ContainerStatus{
		"running":    {Name: "a", ContainerID: "test://a0", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		"terminated": {Name: "a", LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "test://a0"}}},
		"later":      {Name: "a", RestartCount: 1},
	} {
		assert.False(t, in.Memory.RecordPublished(&v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{shown}}).HasUnpublishedStart(), name)
	}
	for name, hidden := range map[string]v1.ContainerStatus{
		"waits":   {Name: "a", ContainerID: "test://a0", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}},
		"earlier": {Name: "a", ContainerID: "test://a9"},
		"other":   {Name: "b", ContainerID: "test://a0"},
	} {
		assert.True(t, in.Memory.RecordPublished(&v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{hidden}}).HasUnpublishedStart(), name)
	}
	assert.True(t, in.Memory.RecordStage(d.Steps[0], plan.StageNotStarted, "a9", epoch).HasUnpublishedStart())
	assert.False(t, in.Memory.RecordStage(d.Steps[0], plan.StageNotStarted, "a0", epoch).HasUnpublishedStart())
	assert.True(t, in.Memory.HasUnpublishedStart(), "a memory is a value")
}

// TestMemory_CS16_UnpublishedStart: a start that no status shows has not the user of the container before. A container
// that was published as created keeps its user.
func TestMemory_CS16_UnpublishedStart(t *testing.T) {
	for id, want := range map[string]bool{"test://a0": true, "test://a9": false, "": false} {
		w := newHarness(t, "pod policy=Never\nsandbox 0 ready")
		in := w.planInput()
		d := plan.Decide(w.pod, w.st, in)
		status := w.statusInput(false)
		status.Memory = d.Memory.RecordAttempt(d.Steps[0], epoch).RecordStage(d.Steps[0], plan.StageCreated, "a0", epoch).RecordObservation()
		user := &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 1}}
		status.Old = &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", ContainerID: id, User: user, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}}}}
		c := plan.Status(status).ContainerStatuses[0]
		require.Equal(t, "test://a0", c.ContainerID)
		require.NotNil(t, c.State.Terminated)
		if want {
			assert.Equal(t, user, c.User, id)
		} else {
			assert.Nil(t, c.User, id)
		}
	}
}

// TestMemory_CS8_UnobservedStart: a waiting container that was started since the records were read waits on, and its exit
// is not shown again. The published count has the number of the new attempt already, because an attempt with that number
// was created, removed and never ran.
func TestMemory_CS8_UnobservedStart(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 exited=1")
	in := w.statusInput(false)
	end := &v1.ContainerStateTerminated{ExitCode: 1, ContainerID: "test://a0"}
	waiting := &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}
	in.Old = &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "a", RestartCount: 1, ContainerID: "test://a0", State: v1.ContainerState{Waiting: waiting}, LastTerminationState: v1.ContainerState{Terminated: end},
	}}}
	show := func() *v1.ContainerStatus { return &plan.Status(in).ContainerStatuses[0] }
	require.NotNil(t, show().State.Terminated, "no reason is stored")

	start := plan.Step{Op: plan.StartContainer, Name: "a", Attempt: 1, Container: &w.pod.Spec.Containers[0]}
	in.Memory = in.Memory.RecordStage(start, plan.StageCreated, "a1", epoch)
	c := show()
	assert.Equal(t, waiting, c.State.Waiting)
	assert.Equal(t, "test://a0", c.LastTerminationState.Terminated.ContainerID)
	assert.Equal(t, int32(1), c.RestartCount)

	in.Old.ContainerStatuses[0].State = v1.ContainerState{Terminated: end}
	assert.NotNil(t, show().State.Terminated, "the published state was not waiting")

	in.Old.ContainerStatuses[0].State = v1.ContainerState{Waiting: waiting}
	in.Runtime = newHarness(t, "sandbox 0 ready\na 0 exited=1\na 1 created").st
	assert.NotEqual(t, waiting.Reason, show().State.Waiting.Reason, "the records show the new attempt")

	old := &in.Old.ContainerStatuses[0]
	old.State, old.ContainerID, old.RestartCount = v1.ContainerState{Waiting: waiting}, "test://a1", 2
	in.Memory, in.Runtime = in.Memory.RecordObservation(), newHarness(t, "sandbox 0 ready\na 0 exited=1\na 1 exited=2").st
	assert.Equal(t, int32(2), show().State.Terminated.ExitCode, "the exit of the new attempt")
}

// A start has not taken place only if the runtime says so.
func TestNeverRan(t *testing.T) {
	for _, err := range []error{runtime.ErrNotFound, runtime.ErrWrongState, runtime.ErrExists} {
		assert.True(t, plan.ProvesNotStarted(fmt.Errorf("start: %w", err)), err)
	}
	assert.False(t, plan.ProvesNotStarted(nil))
	assert.False(t, plan.ProvesNotStarted(runtime.ErrNotReady))
}

// A container whose PostStart hook has not succeeded runs and has not started.
func TestMemory_PostStartPending(t *testing.T) {
	w := newHarness(t, "sandbox 0 ready\na 0 running")
	start := plan.Step{Op: plan.StartContainer, Name: "a", Container: &w.pod.Spec.Containers[0]}
	m := plan.Memory{}.RecordStage(start, plan.StagePostStart, "a0", epoch)
	show := func(m plan.Memory) (started, ready bool) {
		in := w.statusInput(false)
		in.Memory = m
		c := plan.Status(in).ContainerStatuses[0]
		return *c.Started, c.Ready
	}
	started, ready := show(m)
	assert.False(t, started || ready)
	assert.True(t, m.IsPostStartPending("a", "test://a0"))
	assert.False(t, m.IsPostStartPending("a", "test://a1"))
	assert.False(t, m.IsPostStartPending("b", "a0"))
	started, ready = show(m.RecordStage(start, plan.StageStarted, "a0", epoch))
	assert.True(t, started && ready)

	in := w.planInput()
	in.Memory = m
	assert.True(t, plan.Decide(w.pod, w.st, in).Memory.IsPostStartPending("a", "a0"))
	w.st.Containers[0].State, w.st.Containers[0].FinishedAt = runtime.StateExited, epoch.Add(time.Second)
	assert.False(t, plan.Decide(w.pod, w.st, in).Memory.IsPostStartPending("a", "a0"), "it has exited")
}
