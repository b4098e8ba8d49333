package reconcile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// describeStatuses shows each container as its name and the exit code of its state.
func describeStatuses(list []v1.ContainerStatus) string {
	var all []string
	for _, c := range list {
		word := "waiting"
		switch {
		case c.State.Running != nil:
			word = "running"
		case c.State.Terminated != nil:
			word = fmt.Sprint(c.State.Terminated.ExitCode)
		}
		all = append(all, c.Name+"="+word)
	}
	return strings.Join(all, " ")
}

func TestTerminate_ST9_ContainersWithoutAnEndGetOne(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		pod                   *v1.Pod
		init, regular         []v1.ContainerStatus
		wantInit, wantRegular string
	}{
		{"no init containers: never started is a failure too", podWith(),
			nil, statusList(waitingContainer("a"), runningContainer("b")), "", "a=137 b=137"},
		{"what ended keeps its end", podWith(),
			nil, statusList(exitedContainer("a", 0), exitedContainer("b", 3)), "", "a=0 b=3"},
		{"crashed and waiting", podWith(),
			nil, statusList(crashedContainer("a", 0), exitedContainer("b", 0)), "", "a=137 b=0"},
		{"not initialized: regular ones stay, the first init ends", podWith("i", "j"),
			statusList(waitingContainer("i"), waitingContainer("j")), statusList(waitingContainer("a"), waitingContainer("b")), "i=137 j=waiting", "a=waiting b=waiting"},
		{"first init running", podWith("i", "j"),
			statusList(runningContainer("i"), waitingContainer("j")), statusList(waitingContainer("a"), waitingContainer("b")), "i=137 j=waiting", "a=waiting b=waiting"},
		{"up to the last that ever started", podWith("i", "j", "k"),
			statusList(waitingContainer("i"), crashedContainer("j", 1), waitingContainer("k")), statusList(waitingContainer("a"), waitingContainer("b")), "i=137 j=137 k=waiting", "a=waiting b=waiting"},
		{"last init succeeded", podWith("i"),
			statusList(exitedContainer("i", 0)), statusList(waitingContainer("a"), waitingContainer("b")), "i=0", "a=137 b=137"},
		{"last init succeeded before it was lost", podWith("i"),
			statusList(crashedContainer("i", 0)), statusList(waitingContainer("a"), waitingContainer("b")), "i=137", "a=137 b=137"},
		{"last init failed", podWith("i"),
			statusList(exitedContainer("i", 1)), statusList(waitingContainer("a"), waitingContainer("b")), "i=1", "a=waiting b=waiting"},
		{"a regular container ran once", podWith("i"),
			statusList(waitingContainer("i")), statusList(crashedContainer("a", 1), waitingContainer("b")), "i=137", "a=137 b=137"},
		{"last init is a sidecar that has started", podWith("i", "sidecar"),
			statusList(exitedContainer("i", 0), runningContainer("sidecar")), statusList(waitingContainer("a"), waitingContainer("b")), "i=0 sidecar=137", "a=137 b=137"},
		{"last init is a sidecar that only ended", podWith("i", "sidecar"),
			statusList(exitedContainer("i", 0), exitedContainer("sidecar", 0)), statusList(waitingContainer("a"), waitingContainer("b")), "i=0 sidecar=0", "a=waiting b=waiting"},
		{"nothing is known", podWith("i"), nil, nil, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := &v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: tc.init, ContainerStatuses: tc.regular}
			Terminate(tc.pod, status, false)
			assert.Equal(t, tc.wantInit, describeStatuses(status.InitContainerStatuses))
			assert.Equal(t, tc.wantRegular, describeStatuses(status.ContainerStatuses))
		})
	}
}

func TestTerminate_ST9_WhatTheEndSays(t *testing.T) {
	status := &v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: statusList(runningContainer("a"))}
	Terminate(podWith(), status, false)
	c := status.ContainerStatuses[0]
	require.NotNil(t, c.State.Terminated)
	assert.Equal(t, "ContainerStatusUnknown", c.State.Terminated.Reason)
	assert.NotEmpty(t, c.State.Terminated.Message)
	assert.Nil(t, c.State.Running)
	assert.False(t, c.Ready)
	assert.False(t, *c.Started)
}

func TestTerminate_ST9_EphemeralContainersThatRan(t *testing.T) {
	status := &v1.PodStatus{EphemeralContainerStatuses: statusList(waitingContainer("e"), runningContainer("f"), exitedContainer("g", 0))}
	Terminate(podWith(), status, false)
	assert.Equal(t, "e=waiting f=137 g=0", describeStatuses(status.EphemeralContainerStatuses))
}

func TestTerminate_ST10_Phase(t *testing.T) {
	for _, tc := range []struct {
		phase        v1.PodPhase
		static       bool
		want         v1.PodPhase
		wantNotReady string
	}{
		{v1.PodPending, false, v1.PodFailed, "PodFailed"},
		{v1.PodRunning, false, v1.PodFailed, "PodFailed"},
		{"", false, v1.PodFailed, "PodFailed"},
		{v1.PodUnknown, false, v1.PodFailed, "PodFailed"},
		{"", true, "", "ContainersNotReady"},
		{v1.PodFailed, false, v1.PodFailed, "PodFailed"},
		{v1.PodSucceeded, false, v1.PodSucceeded, "PodCompleted"},
		{v1.PodPending, true, v1.PodPending, "ContainersNotReady"},
		{v1.PodRunning, true, v1.PodRunning, "ContainersNotReady"},
		{v1.PodSucceeded, true, v1.PodSucceeded, "PodCompleted"},
	} {
		t.Run(fmt.Sprint(tc.phase, " static=", tc.static), func(t *testing.T) {
			status := &v1.PodStatus{
				Phase:             tc.phase,
				Conditions:        []v1.PodCondition{newCondition(v1.PodReady, "True", earlier), newCondition(v1.ContainersReady, "True", earlier)},
				ContainerStatuses: statusList(runningContainer("a"), runningContainer("b")),
			}
			Terminate(podWith(), status, tc.static)
			assert.Equal(t, tc.want, status.Phase)
			for _, kind := range []v1.PodConditionType{v1.PodReady, v1.ContainersReady} {
				assert.Equal(t, v1.ConditionFalse, podstatus.FindCondition(status.Conditions, kind).Status)
				assert.Equal(t, tc.wantNotReady, podstatus.FindCondition(status.Conditions, kind).Reason)
			}
		})
	}
}

func TestSetReady_ST8(t *testing.T) {
	notReady := func(name string) v1.ContainerStatus {
		c := runningContainer(name)
		c.Ready = false
		return c
	}
	notStarted := func(name string) v1.ContainerStatus {
		c := notReady(name)
		c.Started = new(bool)
		return c
	}
	gated := podWith("i", "sidecar")
	gated.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "gate"}}
	for _, tc := range []struct {
		name        string
		pod         *v1.Pod
		status      v1.PodStatus
		id          string
		ready       bool
		wantChanged bool
		containers  string // status/reason/message of ContainersReady
		podReady    string
	}{
		{name: "last one becomes ready", pod: podWith("i"), id: "mem://a", ready: true, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: statusList(exitedContainer("i", 0)), ContainerStatuses: statusList(notReady("a"), runningContainer("b"))},
			containers: "True//", podReady: "True//"},
		{name: "one of two", pod: podWith(), id: "mem://a", ready: true, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: statusList(notReady("a"), notReady("b"))},
			containers: "False/ContainersNotReady/containers with unready status: [b]",
			podReady:   "False/ContainersNotReady/containers with unready status: [b]"},
		{name: "becomes unready", pod: podWith(), id: "mem://a", ready: false, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: statusList(runningContainer("a"))},
			containers: "False/ContainersNotReady/containers with unknown status: [b], containers with unready status: [a]",
			podReady:   "False/ContainersNotReady/containers with unknown status: [b], containers with unready status: [a]"},
		{name: "sidecar", pod: podWith("i", "sidecar"), id: "mem://sidecar", ready: false, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: statusList(exitedContainer("i", 0), runningContainer("sidecar")), ContainerStatuses: statusList(runningContainer("a"), runningContainer("b"))},
			containers: "False/ContainersNotReady/containers with unready status: [sidecar]",
			podReady:   "False/ContainersNotReady/containers with unready status: [sidecar]"},
		{name: "gate missing", pod: gated, id: "mem://sidecar", ready: true, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: statusList(notReady("sidecar")), ContainerStatuses: statusList(runningContainer("a"), runningContainer("b"))},
			containers: "True//",
			podReady:   `False/ReadinessGatesNotReady/corresponding condition of pod readiness gate "gate" does not exist.`},
		{name: "gate closed", pod: gated, id: "mem://sidecar", ready: true, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{newCondition("gate", "False", now)}, InitContainerStatuses: statusList(notReady("sidecar")), ContainerStatuses: statusList(runningContainer("a"), runningContainer("b"))},
			containers: "True//",
			podReady:   `False/ReadinessGatesNotReady/the status of pod readiness gate "gate" is not "True", but False`},
		{name: "gate open", pod: gated, id: "mem://sidecar", ready: true, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{newCondition("gate", "True", now)}, InitContainerStatuses: statusList(notReady("sidecar")), ContainerStatuses: statusList(runningContainer("a"), runningContainer("b"))},
			containers: "True//", podReady: "True//"},
		{name: "over", pod: podWith(), id: "mem://a", ready: false, wantChanged: true,
			status:     v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: statusList(runningContainer("a"), runningContainer("b"))},
			containers: "False/PodFailed/", podReady: "False/PodFailed/"},
		{name: "PR-16 not started", pod: podWith(), id: "mem://a", ready: true,
			status: v1.PodStatus{ContainerStatuses: statusList(notStarted("a"))}},
		{name: "PR-17 an ordinary init container", pod: podWith("i"), id: "mem://i", ready: true,
			status: v1.PodStatus{InitContainerStatuses: statusList(notReady("i"))}},
		{name: "not in the spec", pod: podWith(), id: "mem://sidecar", ready: true,
			status: v1.PodStatus{InitContainerStatuses: statusList(notReady("sidecar"))}},
		{name: "unchanged", pod: podWith(), id: "mem://a", ready: true,
			status: v1.PodStatus{ContainerStatuses: statusList(runningContainer("a"))}},
		{name: "unknown ID", pod: podWith(), id: "mem://old", ready: false,
			status: v1.PodStatus{ContainerStatuses: statusList(runningContainer("a"))}},
		{name: "no ID", pod: podWith(), id: "", ready: true,
			status: v1.PodStatus{ContainerStatuses: statusList(v1.ContainerStatus{Name: "a", State: runningContainer("a").State})}},
		{name: "not running any more", pod: podWith(), id: "mem://a", ready: true,
			status: v1.PodStatus{ContainerStatuses: statusList(exitedContainer("a", 0))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := tc.status.DeepCopy()
			changed := SetReady(tc.pod, &tc.status, tc.id, tc.ready)
			assert.Equal(t, tc.wantChanged, changed)
			if !tc.wantChanged {
				assert.Equal(t, before, &tc.status)
				return
			}
			assert.Equal(t, tc.ready, findProbedStatus(tc.pod, &tc.status, tc.id).Ready)
			say := func(k v1.PodConditionType) string {
				c := podstatus.FindCondition(tc.status.Conditions, k)
				return fmt.Sprintf("%s/%s/%s", c.Status, c.Reason, c.Message)
			}
			assert.Equal(t, tc.containers, say(v1.ContainersReady))
			assert.Equal(t, tc.podReady, say(v1.PodReady))
		})
	}
}

func TestSetStarted_ST8(t *testing.T) {
	fresh := runningContainer("a")
	fresh.Started = nil
	no := false
	notYet := runningContainer("a")
	notYet.Started = &no
	for _, tc := range []struct {
		name    string
		c       v1.ContainerStatus
		id      string
		started bool
		want    bool
	}{
		{"first result", fresh, "mem://a", true, true},
		{"first result is no", fresh, "mem://a", false, true},
		{"from no to yes", notYet, "mem://a", true, true},
		{"unchanged", notYet, "mem://a", false, false},
		{"another container", notYet, "mem://b", true, false},
		{"not running any more", exitedContainer("a", 0), "mem://a", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := &v1.PodStatus{ContainerStatuses: statusList(*tc.c.DeepCopy())}
			assert.Equal(t, tc.want, SetStarted(podWith(), status, tc.id, tc.started))
			if tc.want {
				assert.Equal(t, tc.started, *status.ContainerStatuses[0].Started)
			} else {
				assert.Equal(t, tc.c, status.ContainerStatuses[0])
			}
		})
	}
}

// The consequences: a started sidecar initializes the pod, and a container that is not started is not ready. An
// ordinary init container has no probes.
func TestSetStarted_ST8_PR16_Consequences(t *testing.T) {
	pod := podWith("i", "sidecar")
	status := &v1.PodStatus{
		InitContainerStatuses: statusList(exitedContainer("i", 0), runningContainer("sidecar")),
		ContainerStatuses:     statusList(waitingContainer("a"), waitingContainer("b")),
	}
	status.InitContainerStatuses[0].Ready = true
	say := func(k v1.PodConditionType) string {
		c := podstatus.FindCondition(status.Conditions, k)
		require.NotNil(t, c, k)
		return fmt.Sprintf("%s %s", c.Status, c.Message)
	}
	require.True(t, SetStarted(pod, status, "mem://sidecar", false))
	assert.False(t, status.InitContainerStatuses[1].Ready)
	assert.Equal(t, "False containers with incomplete status: [sidecar]", say(v1.PodInitialized))
	assert.Equal(t, "False containers with unready status: [sidecar a b]", say(v1.ContainersReady))

	require.True(t, SetStarted(pod, status, "mem://sidecar", true))
	assert.Equal(t, "True ", say(v1.PodInitialized))
	assert.False(t, status.InitContainerStatuses[1].Ready, "that is for another probe to say")

	status.InitContainerStatuses[0] = runningContainer("i")
	assert.False(t, SetStarted(pod, status, "mem://i", false))
}

// A pod without init containers was initialized before anything started in it.
func TestSetStarted_WithoutInitContainers(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
	status := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", ContainerID: "id", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	assert.True(t, SetStarted(pod, status, "id", true))
	assert.Empty(t, status.Conditions)
}
