package reconcile

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

func TestComplete_ST5_StartTimeIsSetOnce(t *testing.T) {
	given := metav1.NewTime(now.Add(-time.Minute))
	first := metav1.NewTime(earlier)
	for _, tc := range []struct {
		name       string
		old, given *metav1.Time
		want       time.Time
	}{
		{"the old one stands", &first, &given, earlier},
		{"also if none is given", &first, nil, earlier},
		{"the given one, if it is the first", nil, &given, given.Time},
		{"a zero one is none", &metav1.Time{}, &metav1.Time{}, now},
		{"now, if there is none", nil, nil, now},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old := &v1.PodStatus{StartTime: tc.old}
			status := &v1.PodStatus{StartTime: tc.given}
			Complete(podWith(), old, status, now)
			assert.True(t, tc.want.Equal(status.StartTime.Time), "%v", status.StartTime)
			if tc.old != nil {
				assert.NotSame(t, old.StartTime, status.StartTime, "a copy")
			}
		})
	}
}

// ST-5, RZ-46: the transition time of a condition changes with its status. A condition about a resize has another one
// with another reason too, and PodResizePending has the time of the decision.
func TestComplete_ST5_RZ46_TransitionTime(t *testing.T) {
	lie := now.Add(24 * time.Hour)
	for _, tc := range []struct {
		name string
		old  []v1.PodCondition
		new  v1.PodCondition
		want time.Time
	}{
		{"same status", []v1.PodCondition{newCondition(v1.PodReady, "True", earlier)}, newCondition(v1.PodReady, "True", lie), earlier},
		{"other status", []v1.PodCondition{newCondition(v1.PodReady, "False", earlier)}, newCondition(v1.PodReady, "True", lie), now},
		{"new condition", nil, newCondition(v1.PodReady, "True", lie), now},
		{"shared condition", []v1.PodCondition{newCondition(v1.DisruptionTarget, "True", earlier)}, newCondition(v1.DisruptionTarget, "True", lie), earlier},
		{"other reason", []v1.PodCondition{condWithReason(v1.PodReady, "a", earlier)}, condWithReason(v1.PodReady, "b", lie), earlier},
		{"resize, same reason", []v1.PodCondition{condWithReason(v1.PodResizeInProgress, "Error", earlier)}, condWithReason(v1.PodResizeInProgress, "Error", lie), earlier},
		{"resize, other reason", []v1.PodCondition{condWithReason(v1.PodResizeInProgress, "", earlier)}, condWithReason(v1.PodResizeInProgress, "Error", lie), now},
		{"pending resize, no time", []v1.PodCondition{condWithReason(v1.PodResizePending, "Deferred", earlier)}, condWithReason(v1.PodResizePending, "Deferred", time.Time{}), earlier},
		{"pending resize, other reason, no time", []v1.PodCondition{condWithReason(v1.PodResizePending, "Deferred", earlier)}, condWithReason(v1.PodResizePending, "Infeasible", time.Time{}), now},
		{"pending resize, with a time", []v1.PodCondition{condWithReason(v1.PodResizePending, "Deferred", earlier)}, condWithReason(v1.PodResizePending, "Infeasible", lie), lie},
		{"condition of others", []v1.PodCondition{newCondition("theirs", "True", earlier)}, newCondition("theirs", "True", lie), lie},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := &v1.PodStatus{Conditions: []v1.PodCondition{tc.new}}
			Complete(podWith(), &v1.PodStatus{Conditions: tc.old}, status, now)
			assert.True(t, tc.want.Equal(status.Conditions[0].LastTransitionTime.Time), "%v", status.Conditions[0].LastTransitionTime)
		})
	}
}

func TestComplete_ST18_TerminalPhaseIsNotReady(t *testing.T) {
	for phase, reason := range map[v1.PodPhase]string{v1.PodFailed: "PodFailed", v1.PodSucceeded: "PodCompleted"} {
		status := &v1.PodStatus{Phase: phase, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: "True", ObservedGeneration: 7}}}
		Complete(podWith(), &v1.PodStatus{}, status, now)
		assert.EqualValues(t, 7, podstatus.FindCondition(status.Conditions, v1.PodReady).ObservedGeneration, "kept")
		for _, kind := range []v1.PodConditionType{v1.PodReady, v1.ContainersReady} {
			c := podstatus.FindCondition(status.Conditions, kind)
			require.NotNil(t, c, "%s of a pod that has %s", kind, phase)
			assert.Equal(t, v1.ConditionFalse, c.Status)
			assert.Equal(t, reason, c.Reason)
		}
	}
	for _, phase := range []v1.PodPhase{v1.PodRunning, v1.PodFailed, v1.PodSucceeded} {
		status := &v1.PodStatus{Phase: phase}
		Complete(podWith(), &v1.PodStatus{}, status, now)
		assert.Empty(t, status.Conditions, "none is made for a pod that has none, as one that was refused")
	}
}

func TestComplete_ST7_TimesAreCutToSeconds(t *testing.T) {
	fine := metav1.NewTime(time.Now().Truncate(time.Second).Add(123456789))
	status := &v1.PodStatus{
		StartTime:  &fine,
		Conditions: []v1.PodCondition{{Type: "theirs", LastProbeTime: fine, LastTransitionTime: fine}},
	}
	c := v1.ContainerStatus{
		State:                v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: fine}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: fine, FinishedAt: fine}},
	}
	status.ContainerStatuses = statusList(c)
	status.InitContainerStatuses = statusList(*c.DeepCopy())
	status.EphemeralContainerStatuses = statusList(*c.DeepCopy())
	status = status.DeepCopy()
	Complete(podWith(), &v1.PodStatus{}, status, now)

	times := []metav1.Time{*status.StartTime, status.Conditions[0].LastProbeTime, status.Conditions[0].LastTransitionTime}
	for _, list := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses, status.EphemeralContainerStatuses} {
		times = append(times, list[0].State.Running.StartedAt,
			list[0].LastTerminationState.Terminated.StartedAt, list[0].LastTerminationState.Terminated.FinishedAt)
	}
	for i, at := range times {
		assert.Zero(t, at.Nanosecond(), "time %d", i)
		assert.Equal(t, fine.Unix(), at.Unix(), "time %d", i)
	}
	assert.Equal(t, 123456789, fine.Nanosecond())
}

// TestComplete_MessagesAreBounded: what says why a pod or a container waits is
// bounded, too, and cut between characters.
func TestComplete_MessagesAreBounded(t *testing.T) {
	long := "a" + strings.Repeat("ü", 600)
	status := v1.PodStatus{Message: long, InitContainerStatuses: []v1.ContainerStatus{
		{Name: "i", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ErrImagePull", Message: long}}},
	}}
	Complete(&v1.Pod{}, &v1.PodStatus{}, &status, time.Time{})
	assert.Equal(t, long[:1023], status.Message)
	assert.Equal(t, long[:1023], status.InitContainerStatuses[0].State.Waiting.Message)
}

func TestComplete_ST7_MessagesShareTwelveKiB(t *testing.T) {
	long := strings.Repeat("x", 13*1024)
	status := &v1.PodStatus{
		ContainerStatuses: statusList(
			v1.ContainerStatus{Name: "a", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Message: long}}},
			v1.ContainerStatus{Name: "b", LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Message: strings.Repeat("ü", 5000)}}},
		),
		InitContainerStatuses: statusList(
			v1.ContainerStatus{Name: "i", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Message: "short"}}},
		),
	}
	Complete(podWith("i"), &v1.PodStatus{}, status, now)
	assert.Len(t, status.ContainerStatuses[0].State.Terminated.Message, 4096, "12 KiB for three containers")
	cut := status.ContainerStatuses[1].LastTerminationState.Terminated.Message
	assert.Len(t, cut, 4096)
	assert.True(t, utf8.ValidString(cut))
	assert.Equal(t, "short", status.InitContainerStatuses[0].State.Terminated.Message)

	// All containers share it: ephemeral ones and what ended before as well.
	pod := podWith("i")
	pod.Spec.EphemeralContainers = make([]v1.EphemeralContainer, 1)
	of := func(name string) v1.ContainerStatus {
		c := v1.ContainerStatus{Name: name}
		c.State.Terminated = &v1.ContainerStateTerminated{Message: long}
		c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{Message: long}
		return c
	}
	status = &v1.PodStatus{InitContainerStatuses: statusList(of("i")), EphemeralContainerStatuses: statusList(of("e"))}
	Complete(pod, &v1.PodStatus{}, status, now)
	for _, c := range []v1.ContainerStatus{status.InitContainerStatuses[0], status.EphemeralContainerStatuses[0]} {
		assert.Len(t, c.State.Terminated.Message, 3072, c.Name)
		assert.Len(t, c.LastTerminationState.Terminated.Message, 3072, c.Name)
	}

	assert.Equal(t, "ü", truncateMessage("üü", 3), "between characters")
	assert.Empty(t, truncateMessage("ü", 1))
}

func TestComplete_ST7_ListsAreSorted(t *testing.T) {
	status := &v1.PodStatus{
		ContainerStatuses:     statusList(waitingContainer("b"), waitingContainer("a")),
		InitContainerStatuses: statusList(waitingContainer("foreign"), waitingContainer("i1"), waitingContainer("i2")),
	}
	pod := podWith("i2", "i1")
	for _, name := range []string{"e2", "e1"} {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers,
			v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name}})
	}
	status.EphemeralContainerStatuses = statusList(waitingContainer("e0"), waitingContainer("e1"), waitingContainer("e2"))
	Complete(pod, &v1.PodStatus{}, status, now)
	assert.Equal(t, []string{"a", "b"}, containerNames(status.ContainerStatuses), "by name")
	assert.Equal(t, []string{"e2", "e1", "e0"}, containerNames(status.EphemeralContainerStatuses), "as specified (CS-10)")
	assert.Equal(t, []string{"i2", "i1", "foreign"}, containerNames(status.InitContainerStatuses), "as specified")
}

func containerNames(list []v1.ContainerStatus) []string {
	var all []string
	for _, c := range list {
		all = append(all, c.Name)
	}
	return all
}

func TestEqual_ST3(t *testing.T) {
	base := func() *v1.PodStatus {
		return &v1.PodStatus{
			Phase:             v1.PodRunning,
			Conditions:        []v1.PodCondition{newCondition(v1.PodReady, "True", earlier), newCondition(v1.ContainersReady, "True", earlier), newCondition("theirs", "True", earlier)},
			ContainerStatuses: statusList(runningContainer("a")),
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*v1.PodStatus)
		want   bool
	}{
		{"nothing", func(*v1.PodStatus) {}, true},
		{"phase", func(s *v1.PodStatus) { s.Phase = v1.PodFailed }, false},
		{"message", func(s *v1.PodStatus) { s.Message = "m" }, false},
		{"container", func(s *v1.PodStatus) { s.ContainerStatuses[0].RestartCount++ }, false},
		{"condition status", func(s *v1.PodStatus) { s.Conditions[0].Status = "False" }, false},
		{"condition reason", func(s *v1.PodStatus) { s.Conditions[0].Reason = "r" }, false},
		{"condition message", func(s *v1.PodStatus) { s.Conditions[0].Message = "m" }, false},
		{"condition generation", func(s *v1.PodStatus) { s.Conditions[0].ObservedGeneration = 2 }, false},
		{"condition gone", func(s *v1.PodStatus) { s.Conditions = s.Conditions[1:] }, false},
		{"condition new", func(s *v1.PodStatus) {
			s.Conditions = append(s.Conditions, newCondition(v1.PodInitialized, "True", now))
		}, false},
		{"shared condition new", func(s *v1.PodStatus) {
			s.Conditions = append(s.Conditions, newCondition(v1.DisruptionTarget, "True", now))
		}, false},
		{"times of a condition", func(s *v1.PodStatus) {
			s.Conditions[0].LastTransitionTime = metav1.NewTime(now)
			s.Conditions[0].LastProbeTime = metav1.NewTime(now)
		}, true},
		{"order of conditions", func(s *v1.PodStatus) { s.Conditions[0], s.Conditions[1] = s.Conditions[1], s.Conditions[0] }, true},
		{"condition of others", func(s *v1.PodStatus) { s.Conditions[2].Status = "False" }, true},
		{"condition of others gone", func(s *v1.PodStatus) { s.Conditions = s.Conditions[:2] }, true},
		{"empty in place of nil", func(s *v1.PodStatus) { s.PodIPs = []v1.PodIP{} }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := base(), base()
			tc.change(b)
			assert.Equal(t, tc.want, Equal(a, b))
			assert.Equal(t, tc.want, Equal(b, a))
			assert.Equal(t, base(), a, "comparing changes nothing")
		})
	}
}

// PH-9, item 24: an end is not taken back, nor made a better one.
func TestComplete_PH9_AnEndStays(t *testing.T) {
	old := &v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "m"}
	for _, phase := range []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodSucceeded} {
		status := &v1.PodStatus{Phase: phase, Reason: "Other", Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: "True"}}}
		Complete(podWith(), old, status, now)
		assert.Equal(t, []string{"Failed", "Evicted", "m"}, []string{string(status.Phase), status.Reason, status.Message}, phase)
		assert.Equal(t, "PodFailed", podstatus.FindCondition(status.Conditions, v1.PodReady).Reason, phase)
	}
	status := &v1.PodStatus{Phase: v1.PodFailed, Reason: "Other"}
	Complete(podWith(), old, status, now)
	assert.Equal(t, "Evicted", status.Reason, "the first reason is the reason")
	status = &v1.PodStatus{Phase: v1.PodFailed}
	Complete(podWith(), &v1.PodStatus{Phase: v1.PodRunning, Reason: "r"}, status, now)
	assert.Equal(t, v1.PodFailed, status.Phase)
	assert.Empty(t, status.Reason)
}

// A message of exactly its limit stays whole, and one that is no text is cut to nothing. Two
// init containers are put in the order of the spec.
func TestComplete_ST7_Limits(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "b"}, {Name: "a"}}}}
	for message, want := range map[string]string{
		strings.Repeat("x", 1024):    strings.Repeat("x", 1024),
		strings.Repeat("x", 1025):    strings.Repeat("x", 1024),
		strings.Repeat("\x80", 1025): "",
	} {
		status := &v1.PodStatus{Message: message, InitContainerStatuses: []v1.ContainerStatus{{Name: "a"}, {Name: "b"}}}
		Complete(pod, &v1.PodStatus{}, status, time.Unix(0, 0))
		assert.Equal(t, want, status.Message)
		assert.Equal(t, "b", status.InitContainerStatuses[0].Name)
	}
}

// condWithReason returns a condition that is True, with a reason and a transition time.
func condWithReason(t v1.PodConditionType, reason string, at time.Time) v1.PodCondition {
	c := newCondition(t, v1.ConditionTrue, at)
	c.Reason = reason
	return c
}
