package statustest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/status/statustest"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Builders of statuses of the container "c".
type container = v1.ContainerStatus

func is(c container, state v1.ContainerState) container {
	c.State = state
	return c
}

func was(c container, state v1.ContainerState) container {
	c.LastTerminationState = state
	return c
}

var (
	waits = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}
	runs  = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}}
	ended = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start.Add(time.Second)),
	}}
	failed = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1}}
)

var unseen = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}

func of(containers ...container) *v1.PodStatus { return &v1.PodStatus{ContainerStatuses: containers} }

func TestCheckTransition_I26_I27(t *testing.T) {
	c1, c2 := container{Name: "c", ContainerID: "1"}, container{Name: "c", ContainerID: "2"}
	restarted := func(n int32) container { return container{Name: "c", ContainerID: "2", RestartCount: n} }
	ready := func(s v1.ConditionStatus, at time.Time) *v1.PodStatus {
		return &v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: s, LastTransitionTime: metav1.NewTime(at)}}}
	}
	began := func(at time.Time) *v1.PodStatus { return &v1.PodStatus{StartTime: new(metav1.NewTime(at))} }
	for _, tc := range []struct {
		name     string
		old, new *v1.PodStatus
		fault    string // empty: fine
	}{
		{"first", nil, of(is(c1, waits)), ""},
		{"starts", of(is(c1, waits)), of(is(c1, runs)), ""},
		{"ends", of(is(c1, runs)), of(is(c1, ended)), ""},
		{"waits for its restart", of(is(c1, ended)), of(was(is(c1, waits), ended)), ""},
		{"restarts", of(is(c1, ended)), of(was(is(restarted(1), runs), ended)), ""},
		{"restarts uncounted", of(is(c1, ended)), of(was(is(c2, runs), ended)), "runs again and its restart count is still 0"},
		{"restarts after an end that nobody saw", of(is(c1, unseen)), of(was(is(c2, runs), unseen)), ""},
		{"nobody saw its end, and it had not ended", of(is(c1, unseen)), of(is(c1, runs)), ""},
		{"nobody saw its end, and that is forgotten", of(is(c1, unseen)), of(is(restarted(1), runs)), "its termination is no longer shown"},
		{"ephemeral container runs again under its ID", &v1.PodStatus{EphemeralContainerStatuses: []container{is(c1, ended)}},
			&v1.PodStatus{EphemeralContainerStatuses: []container{was(is(c1, runs), ended)}}, `runs again under the ID "1"`},
		{"all begin anew", of(is(c1, runs)), of(was(is(restarted(1), waits), ended)), ""},
		{"restart count rises", of(is(restarted(1), waits)), of(is(restarted(2), waits)), ""},
		{"restart count falls", of(is(restarted(2), waits)), of(is(restarted(1), waits)), "restart count fell from 2 to 1"},
		{"container disappears", of(is(c1, waits), container{Name: "d"}), of(is(c1, waits)), "container d disappeared"},
		{"container replaced", of(container{Name: "d"}), of(is(c1, waits)), "container d disappeared"},
		{"init container disappears", &v1.PodStatus{InitContainerStatuses: []container{c1}}, of(c1), "container c disappeared"},
		{"ephemeral container disappears", &v1.PodStatus{EphemeralContainerStatuses: []container{c1}}, of(c1), "container c disappeared"},
		{"runs again under its ID", of(is(c1, ended)), of(was(is(c1, runs), ended)), `runs again under the ID "1"`},
		{"its end is forgotten", of(is(c1, ended)), of(is(c2, runs)), "its termination is no longer shown"},
		{"its last end is forgotten", of(was(is(c2, runs), ended)), of(is(c2, runs)), "its termination is no longer shown"},
		{"terminal phase stays", &v1.PodStatus{Phase: "Failed"}, &v1.PodStatus{Phase: "Failed"}, ""},
		{"phase moves on", &v1.PodStatus{Phase: "Running"}, &v1.PodStatus{Phase: "Failed"}, ""},
		{"terminal phase reverts", &v1.PodStatus{Phase: "Succeeded"}, &v1.PodStatus{Phase: "Running"}, "phase went from Succeeded to Running"},
		{"terminal phase changes", &v1.PodStatus{Phase: "Failed"}, &v1.PodStatus{Phase: "Succeeded"}, "phase went from Failed to Succeeded"},
		{"start time stays", began(start), began(start), ""},
		{"start time changes", began(start), began(start.Add(1e9)), "start time went"},
		{"start time vanishes", began(start), &v1.PodStatus{}, "start time went"},
		{"transition", ready("False", start), ready("True", start.Add(1e9)), ""},
		{"transition time without transition", ready("True", start), ready("True", start.Add(1e9)), "another transition time"},
		{"end without times", nil, of(is(c1, failed)), ""},
		{"finished without start", nil, of(is(c1, v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start)}})), "without having started"},
		{"finished before its start", nil, of(was(is(c1, waits), v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start.Add(-time.Second)),
		}})), "before it started"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := statustest.CheckTransition(tc.old, tc.new)
			if tc.fault == "" {
				assert.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.fault)
				require.ErrorContains(t, err, "statustest: ")
			}
		})
	}
}

func TestCheckStatus_I29_NothingRunsBeforeItMay(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	pod.Spec.InitContainers = []v1.Container{{Name: "i"}, {Name: "side", RestartPolicy: &always}}
	i, side, c := container{Name: "i"}, container{Name: "side"}, container{Name: "c"}
	again := i
	again.RestartCount = 1
	started := c
	started.Started = new(true)
	for _, tc := range []struct {
		name  string
		init  []container
		c     container
		fault string
	}{
		{"nothing has run", []container{is(i, waits), is(side, waits)}, is(c, waits), ""},
		{"all in order", []container{is(i, ended), is(side, runs)}, is(c, runs), ""},
		{"sidecar before its init container", []container{is(i, waits), is(side, runs)}, is(c, waits), "container side has run before init container i"},
		{"regular before the sidecar, whose record may be lost", []container{is(i, ended), is(side, waits)}, is(c, runs), ""},
		{"regular has a last termination", []container{is(i, waits), is(side, waits)}, was(is(c, waits), ended), "container c"},
		{"regular is started", []container{is(i, waits), is(side, waits)}, is(started, waits), "container c"},
		{"regular is nothing", []container{is(i, waits), is(side, waits)}, c, "container c"},
		{"during the first run of an init container", []container{is(i, runs), is(side, waits)}, is(c, runs), "container c has run before init container"},
		{"after an init container failed", []container{is(i, failed), is(side, runs)}, is(c, runs), "container c has run before init container"},
		{"during a later run", []container{is(again, runs), is(side, runs)}, is(c, runs), ""},
		{"during a run after a known end", []container{was(is(i, runs), ended), is(side, runs)}, is(c, runs), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &v1.PodStatus{InitContainerStatuses: tc.init, ContainerStatuses: []container{tc.c}}
			if err := statustest.CheckStatus(pod, s); tc.fault == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.fault)
			}
		})
	}
}

func TestCheckStatus_I28_ReadyMeansRunning(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	pod.Spec.InitContainers = []v1.Container{{Name: "side", RestartPolicy: &always}, {Name: "i"}}
	pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "gate"}}
	good := func() *v1.PodStatus {
		return &v1.PodStatus{
			Phase:                 v1.PodRunning,
			Conditions:            []v1.PodCondition{{Type: v1.PodReady, Status: "True"}, {Type: "gate", Status: "True"}},
			InitContainerStatuses: []container{is(container{Name: "side", Ready: true}, runs)},
			ContainerStatuses:     []container{is(container{Name: "c", Ready: true, Started: new(true)}, runs)},
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*v1.PodStatus)
		fault  string
	}{
		{"ready", func(*v1.PodStatus) {}, ""},
		{"not ready, and nothing is", func(s *v1.PodStatus) { *s = v1.PodStatus{Phase: v1.PodFailed} }, ""},
		{"over", func(s *v1.PodStatus) { s.Phase = v1.PodSucceeded }, "is ready and has Succeeded"},
		{"container not ready", func(s *v1.PodStatus) { s.ContainerStatuses[0].Ready = false }, "without container c"},
		{"container not running", func(s *v1.PodStatus) { s.ContainerStatuses[0].State = ended }, "without container c"},
		{"container unknown", func(s *v1.PodStatus) { s.ContainerStatuses = nil }, "without container c"},
		{"sidecar not ready", func(s *v1.PodStatus) { s.InitContainerStatuses[0].Ready = false }, "without container side"},
		{"sidecar not started", func(s *v1.PodStatus) { s.InitContainerStatuses[0].Started = new(false) }, "container side is ready and does not run, or has not started"},
		{"container ready and over", func(s *v1.PodStatus) { s.ContainerStatuses[0].State = ended }, "container c is ready and does not run"},
		{"all begin anew", func(s *v1.PodStatus) {
			s.Conditions = append(s.Conditions, v1.PodCondition{Type: v1.AllContainersRestarting, Status: "True"})
		}, "all its containers are restarting"},
		{"all began anew", func(s *v1.PodStatus) {
			s.Conditions = append(s.Conditions, v1.PodCondition{Type: v1.AllContainersRestarting, Status: "False"})
		}, ""},
		{"init container ready", func(s *v1.PodStatus) {
			s.InitContainerStatuses = append(s.InitContainerStatuses, is(container{Name: "i", Ready: true}, ended))
		}, ""},
		{"init container ready while it runs", func(s *v1.PodStatus) {
			s.InitContainerStatuses = append(s.InitContainerStatuses, is(container{Name: "i", Ready: true}, runs))
		}, "init container i is ready and has not succeeded"},
		{"init container ready after a failure", func(s *v1.PodStatus) {
			s.InitContainerStatuses = append(s.InitContainerStatuses, is(container{Name: "i", Ready: true}, failed))
		}, "init container i is ready and has not succeeded"},
		{"ephemeral container", func(s *v1.PodStatus) { s.EphemeralContainerStatuses = []container{is(container{Name: "e"}, runs)} }, ""},
		{"ephemeral container ready", func(s *v1.PodStatus) {
			s.EphemeralContainerStatuses = []container{is(container{Name: "e", Ready: true}, runs)}
		}, "ephemeral container e is ready"},
		{"gate closed", func(s *v1.PodStatus) { s.Conditions[1].Status = "False" }, "gate gate closed"},
		{"gate missing", func(s *v1.PodStatus) { s.Conditions = s.Conditions[:1] }, "gate gate closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := good()
			tc.change(s)
			err := statustest.CheckStatus(pod, s)
			if tc.fault == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.fault)
			}
		})
	}
}

// A sidecar that is in its first run and has not started lets nothing begin.
func TestCheckTransition_I29_SidecarsStartFirst(t *testing.T) {
	side := func(started bool, restarts int32) container {
		return is(container{Name: "side", ContainerID: "s", Started: &started, RestartCount: restarts}, runs)
	}
	pod := func(side, next, c container) *v1.PodStatus {
		return &v1.PodStatus{InitContainerStatuses: []container{side, next}, ContainerStatuses: []container{c}}
	}
	c, next := container{Name: "c"}, container{Name: "next"}
	before := pod(side(false, 0), is(next, waits), is(c, waits))
	assert.ErrorContains(t, statustest.CheckTransition(before, pod(side(false, 0), is(next, runs), is(c, waits))), "container next has run before sidecar side had started")
	assert.ErrorContains(t, statustest.CheckTransition(before, pod(side(false, 0), is(next, ended), is(c, runs))), "container c has run before sidecar side had started")
	assert.NoError(t, statustest.CheckTransition(before, pod(side(true, 0), is(next, runs), is(c, waits))))
	assert.NoError(t, statustest.CheckTransition(before, pod(side(false, 0), is(next, waits), is(c, waits))))
	assert.NoError(t, statustest.CheckTransition(pod(side(false, 1), is(next, ended), is(c, waits)), pod(side(false, 1), is(next, ended), is(c, runs))),
		"it starts again, and what it had started once has been initialized")
	assert.NoError(t, statustest.CheckTransition(pod(side(false, 0), is(next, ended), is(c, ended)), pod(side(false, 0), is(next, ended), is(c, ended))),
		"an agent that was restarted does not know that it had started")
}

func TestCheckGone_I27_NothingRuns(t *testing.T) {
	c := container{Name: "c"}
	started := is(c, waits)
	started.Started = new(true)
	assert.NoError(t, statustest.CheckGone(of(is(c, ended), is(c, waits))))
	assert.ErrorContains(t, statustest.CheckGone(of(is(c, runs))), "is running")
	assert.ErrorContains(t, statustest.CheckGone(&v1.PodStatus{InitContainerStatuses: []container{is(c, runs)}}), "is running")
	assert.ErrorContains(t, statustest.CheckGone(of(started)), "has no end")
}
