package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// Status returns the published list only if a new list would be equal. It never returns a list with a
// container that the spec does not have, and it ignores the status of such a container.
func TestStatus_PublishedServesOnlyIfItIsTheSame(t *testing.T) {
	served := 0
	rapid.Check(t, func(t *rapid.T) {
		text := "pod init=i,s* main=b,a ephemeral=e policy=" +
			rapid.SampledFrom([]string{"Always", "OnFailure", "Never"}).Draw(t, "policy") + "\nspec a policy=Never rule=RestartAllContainers/In/42 readiness\nspec b startup\n"
		first := drawnHarness(t, text, "first")
		first.pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		second := first
		if rapid.Bool().Draw(t, "another") {
			second = drawnHarness(t, text, "second")
		}
		old := plan.Status(first.statusInput(rapid.Bool().Draw(t, "first terminal")))
		old = *old.DeepCopy()
		changeOne(t, &old)
		strange := old.DeepCopy()
		strange.Conditions = append(strange.Conditions, v1.PodCondition{Type: "Stranger"})
		for _, list := range []*[]v1.ContainerStatus{
			&strange.InitContainerStatuses, &strange.ContainerStatuses, &strange.EphemeralContainerStatuses,
		} {
			*list = append(*list, v1.ContainerStatus{Name: "~"})
		}
		terminal := rapid.Bool().Draw(t, "terminal")
		before := old.DeepCopy()
		second.old = &old
		fast := plan.Status(second.statusInput(terminal))
		if &fast.ContainerStatuses[0] == &old.ContainerStatuses[0] {
			served++
		}
		second.old = strange
		slow := plan.Status(second.statusInput(terminal))
		assert.True(t, equality.Semantic.DeepEqual(&old, before), "what was published is not changed")
		for i := range fast.Conditions {
			fast.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		if !equality.Semantic.DeepEqual(slow, fast) {
			require.Equal(t, slow, fast)
		}
	})
	assert.NotZero(t, served)
}

// drawnHarness is any pod in any state, most often one in which it runs.
func drawnHarness(t *rapid.T, text, label string) *harness {
	states := rapid.SampledFrom([]string{"running", "running", "exited=0", "exited=42", "created", "unknown", ""})
	users := rapid.SampledFrom([]string{"", "", " user=1:2:2+3", " user=1:2:3+2", " user=1:2:2+4", " user=1:3:2+3", " user=2:2:2+3"})
	text += "sandbox 0 " + rapid.SampledFrom([]string{"ready", "ready", "lost"}).Draw(t, label+" sandbox") + "\n"
	for _, name := range []string{"i", "s", "a", "b", "e"} {
		for _, attempt := range []string{"0", "1"} {
			if state := states.Draw(t, label+" "+name+attempt); state != "" {
				text += name + " " + attempt + " " + state + users.Draw(t, label+" user of "+name+attempt) + "\n"
			}
		}
	}
	return newHarness(t, text)
}

// changeOne lets a status say something else in one place, or nothing else.
func changeOne(t *rapid.T, s *v1.PodStatus) {
	lists := [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses}
	list := rapid.SampledFrom(lists).Draw(t, "list")
	c := &list[rapid.IntRange(0, len(list)-1).Draw(t, "which")]
	end := &v1.ContainerStateTerminated{ExitCode: 3, ContainerID: c.ContainerID}
	rapid.SampledFrom([]func(){
		func() {},
		func() { c.Name += "x" },
		func() { c.Image = "other" },
		func() { c.ImageID = "other" },
		func() { c.ContainerID = "test://other" },
		func() { c.RestartCount += 3 },
		func() { c.Ready = !c.Ready },
		func() { c.Started = nil },
		func() { c.Started = new(true) },
		func() { c.Started = new(false) },
		func() { c.State = v1.ContainerState{} },
		func() { c.State = v1.ContainerState{Running: &v1.ContainerStateRunning{}} },
		func() { c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "Other"}} },
		func() { c.State = v1.ContainerState{Terminated: end} },
		func() { c.LastTerminationState = v1.ContainerState{} },
		func() { c.LastTerminationState = v1.ContainerState{Terminated: end} },
		func() { c.AllocatedResources = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")} },
		func() { c.AllocatedResources = nil },
		func() { c.Resources = &v1.ResourceRequirements{} },
		func() { c.Resources = nil },
		func() { c.User = nil },
		func() { c.User = &v1.ContainerUser{} },
		func() {
			c.User = &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 1, GID: 2, SupplementalGroups: []int64{3, 2}}}
		},
		func() { c.StopSignal = new(v1.SIGHUP) },
		func() { c.VolumeMounts = []v1.VolumeMountStatus{{Name: "v"}} },
		func() { c.AllocatedResourcesStatus = []v1.ResourceStatus{{Name: "r"}} },
		func() { list[0], list[len(list)-1] = list[len(list)-1], list[0] },
		func() { s.Conditions[0].Status = "Other" },
		func() { s.Conditions[1].Reason = "Other" },
		func() { s.Conditions[2].Message = "Other" },
		func() { s.Conditions[3].ObservedGeneration = 9 },
		func() { s.Conditions[0].LastProbeTime = metav1.Time{Time: epoch} },
		func() { s.Conditions[0].LastTransitionTime = metav1.Time{Time: epoch} },
		func() { s.Conditions = s.Conditions[1:] },
		func() { s.HostIPs = []v1.HostIP{{IP: "10.9.9.9"}} },
		func() { s.PodIPs = []v1.PodIP{{IP: "10.9.9.9"}} },
	}).Draw(t, "change")()
}

// Without a published status, Status does not share the lists of the pod's own status.
func TestStatus_ThePodIsOnlyRead(t *testing.T) {
	w := largeHarness(t)
	w.pod.Status, w.old = *w.old, nil
	s := plan.Status(w.statusInput(false))
	require.NotSame(t, &w.pod.Status.ContainerStatuses[0], &s.ContainerStatuses[0])
	require.NotSame(t, &w.pod.Status.InitContainerStatuses[0], &s.InitContainerStatuses[0])
	require.NotSame(t, &w.pod.Status.Conditions[0], &s.Conditions[0])
}

// ST-7: times are whole seconds, so that the published list can be returned again.
func TestContainers_ST7_WholeSeconds(t *testing.T) {
	w := largeHarness(t)
	w.old = nil
	for i := range w.st.Containers {
		rec := &w.st.Containers[i]
		rec.StartedAt = rec.StartedAt.Add(123 * time.Millisecond)
		if !rec.FinishedAt.IsZero() {
			rec.FinishedAt = rec.FinishedAt.Add(999 * time.Millisecond)
		}
	}
	s := plan.Status(w.statusInput(false))
	w.old = &s
	again := plan.Status(w.statusInput(false))
	require.Same(t, &s.ContainerStatuses[0], &again.ContainerStatuses[0])
	require.Same(t, &s.InitContainerStatuses[0], &again.InitContainerStatuses[0])
	for _, c := range containersOf(&s) {
		for _, at := range timesOf(&c) {
			assert.Zero(t, at.Nanosecond(), c.Name)
		}
	}
}

func timesOf(c *v1.ContainerStatus) (times []metav1.Time) {
	for _, state := range []v1.ContainerState{c.State, c.LastTerminationState} {
		if state.Running != nil {
			times = append(times, state.Running.StartedAt)
		}
		if state.Terminated != nil {
			times = append(times, state.Terminated.StartedAt, state.Terminated.FinishedAt)
		}
	}
	return times
}

// The figure: at most five things are made where nothing changes.
func TestPlan_UnchangedMakesNothing(t *testing.T) {
	w := largeHarness(t)
	say, do := w.statusInput(false), w.planInput()
	do.Memory = plan.Decide(w.pod, w.st, do).Memory
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		s := plan.Status(say)
		do.Published = &s
		_ = plan.Decide(w.pod, w.st, do)
	}), 5.0)
}
