package clusterlab_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// judge records states of the server or the machine that no failure may cause. The zero value allows no pod to
// restart or to terminate by itself.
type judge struct {
	// restarts and ends report for a pod name whether its containers may restart, and whether the pod may terminate.
	restarts, ends func(name string) bool
	// byHand is set if others than the node write statuses.
	byHand bool

	seen  map[types.UID]*v1.Pod // the newest of each pod at the server
	kept  map[string]string     // container IDs that may never change, by pod and container
	wrong []string
}

func (j *judge) recordViolation(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(j.wrong, text) {
		j.wrong = append(j.wrong, text)
	}
}

// isTerminal reports whether the phase of a pod is Succeeded or Failed.
func isTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// phaseRank returns the position of a phase. The position of a pod's phase may not decrease.
func phaseRank(phase v1.PodPhase) int {
	return slices.Index([]v1.PodPhase{"", v1.PodPending, v1.PodRunning}, phase)
}

// checkObject compares a pod at the server with the state of the same pod that it got before.
func (j *judge) checkObject(pod *v1.Pod) {
	if j.seen == nil {
		j.seen = map[types.UID]*v1.Pod{}
	}
	old := j.seen[pod.UID]
	j.seen[pod.UID] = pod
	if isTerminal(pod) && !j.byHand && (j.ends == nil || !j.ends(pod.Name)) && pod.DeletionTimestamp == nil {
		j.recordViolation("%s %s has ended: %s %s %s", pod.Name, pod.UID, pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.RestartCount > 0 && (j.restarts == nil || !j.restarts(pod.Name)) && !neverRan(lastTermination(c)) {
			j.recordViolation("%s %s: container %s was restarted %d times, last after %+v", pod.Name, pod.UID, c.Name, c.RestartCount, c.LastTerminationState.Terminated)
		}
		if old != nil {
			j.checkContainer(pod, old, c)
		}
	}
	if old != nil {
		j.checkOrder(old, pod)
	}
}

// lastTermination returns the last known termination before the current container. If the current container has failed to
// start, it is the container's own termination.
func lastTermination(c *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if c.LastTerminationState.Terminated == nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

// neverRan reports whether a start has failed. A start that is under way when the agent is
// killed does, since containerd gives up what its client gives up; that it is done again is
// counted as a restart, also by the kubelet, and is not a needless one.
func neverRan(end *v1.ContainerStateTerminated) bool {
	return end != nil && (end.Reason == "StartError" || end.StartedAt.Unix() <= 0)
}

// checkOrder compares two states of one pod.
func (j *judge) checkOrder(before, now *v1.Pod) {
	from, errFrom := strconv.ParseUint(before.ResourceVersion, 10, 64)
	to, errTo := strconv.ParseUint(now.ResourceVersion, 10, 64)
	if errFrom == nil && errTo == nil && to < from {
		j.recordViolation("%s %s: the server shows version %d after %d", now.Name, now.UID, to, from)
	}
	if before.DeletionTimestamp != nil && now.DeletionTimestamp == nil {
		j.recordViolation("%s %s is no longer being deleted", now.Name, now.UID)
	}
	switch was, is := before.Status.Phase, now.Status.Phase; {
	case j.byHand:
	case isTerminal(before) && was != is, !isTerminal(before) && !isTerminal(now) && phaseRank(is) < phaseRank(was):
		j.recordViolation("%s %s went from %s to %s", now.Name, now.UID, was, is)
	}
}

// stateRank returns the position of a container's state: waiting, running, terminated.
func stateRank(state v1.ContainerState) int {
	switch {
	case state.Terminated != nil:
		return 2
	case state.Running != nil:
		return 1
	}
	return 0
}

// checkContainer compares the status of a container with its status before. A container that has not run may be created
// again, or be removed with its pod.
func (j *judge) checkContainer(pod, before *v1.Pod, now *v1.ContainerStatus) {
	if j.byHand {
		return
	}
	i := slices.IndexFunc(before.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.Name == now.Name })
	if i < 0 {
		return
	}
	switch was := &before.Status.ContainerStatuses[i]; {
	case now.RestartCount < was.RestartCount:
		j.recordViolation("%s %s: the restart count of %s fell from %d to %d", pod.Name, pod.UID, now.Name, was.RestartCount, now.RestartCount)
	case now.RestartCount > was.RestartCount:
	case stateRank(was.State) > 0 && was.ContainerID != "" && now.ContainerID != was.ContainerID && (j.restarts == nil || !j.restarts(pod.Name)):
		j.recordViolation("%s %s: container %s is %q after %q", pod.Name, pod.UID, now.Name, now.ContainerID, was.ContainerID)
	case stateRank(now.State) < stateRank(was.State) && (j.restarts == nil || !j.restarts(pod.Name)):
		j.recordViolation("%s %s: container %s went back to %+v from %+v", pod.Name, pod.UID, now.Name, now.State, was.State)
	}
}

// checkRunning checks the running containers. No container of a pod may run twice. A pod for which keep returns true
// must run the same containers at all times after the first.
func (j *judge) checkRunning(running []ran, keep func(name string) bool) {
	if j.kept == nil {
		j.kept = map[string]string{}
	}
	have := map[string]string{}
	for _, c := range running {
		key := fmt.Sprintf("%s %s/%s", c.uid, c.pod, c.container)
		if other, twice := have[key]; twice {
			j.recordViolation("%s runs twice: %s and %s", key, other, c.id)
		}
		have[key] = c.id
		if _, known := j.kept[key]; !known && keep(c.pod) {
			j.kept[key] = c.id
		}
	}
	for key, id := range j.kept {
		if have[key] != id {
			j.recordViolation("%s is %q on the machine, not %q any more", key, have[key], id)
		}
	}
}

// ran is a container that runs.
type ran struct {
	uid                types.UID
	pod, container, id string
}

// TestJudge: it finds each of the wrongs that it looks for, and nothing else.
func TestJudge(t *testing.T) {
	pod := func(version string, phase v1.PodPhase, restarts int32, state string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", ResourceVersion: version}, Status: v1.PodStatus{Phase: phase}}
		c := v1.ContainerStatus{Name: "c", RestartCount: restarts, ContainerID: state}
		switch {
		case state == "":
		case strings.HasSuffix(state, "-ended"):
			c.ContainerID = strings.TrimSuffix(state, "-ended")
			c.State.Terminated = &v1.ContainerStateTerminated{}
		default:
			c.State.Running = &v1.ContainerStateRunning{}
		}
		p.Status.ContainerStatuses = []v1.ContainerStatus{c}
		return p
	}
	any := func(string) bool { return true }
	failed := pod("1", v1.PodRunning, 1, "a")
	failed.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{Reason: "StartError", ExitCode: 128}
	again, ended := pod("1", v1.PodRunning, 2, "a-ended"), pod("1", v1.PodRunning, 2, "a-ended")
	again.Status.ContainerStatuses[0].State.Terminated.Reason = "StartError"
	ended.Status.ContainerStatuses[0].State.Terminated = &v1.ContainerStateTerminated{Reason: "Error", StartedAt: metav1.Unix(1, 0)}
	for _, c := range []struct {
		name  string
		judge judge
		seen  []*v1.Pod
		want  string
	}{
		{"a life", judge{ends: any}, []*v1.Pod{pod("1", "", 0, ""), pod("2", v1.PodPending, 0, ""), pod("3", v1.PodRunning, 0, "a"), pod("4", v1.PodFailed, 0, "a-ended")}, ""},
		{"expected restarts", judge{restarts: any}, []*v1.Pod{pod("1", v1.PodRunning, 0, "a"), pod("2", v1.PodRunning, 1, "b")}, ""},
		{"a phase that falls", judge{}, []*v1.Pod{pod("1", v1.PodRunning, 0, "a"), pod("2", v1.PodPending, 0, "a")}, "web u went from Running to Pending"},
		{"an end taken back", judge{ends: any}, []*v1.Pod{pod("1", v1.PodFailed, 0, "a-ended"), pod("2", v1.PodSucceeded, 0, "a-ended")}, "web u went from Failed to Succeeded"},
		{"an unexpected end", judge{}, []*v1.Pod{pod("1", v1.PodFailed, 0, "a")}, "web u has ended: Failed  "},
		{"a restart", judge{}, []*v1.Pod{pod("1", v1.PodRunning, 1, "a")}, "web u: container c was restarted 1 times, last after "},
		{"a start that failed", judge{}, []*v1.Pod{failed}, ""},
		{"starts that failed again and again", judge{}, []*v1.Pod{again}, ""},
		{"a restart that has ended", judge{}, []*v1.Pod{ended}, "web u: container c was restarted 2 times, last after "},
		{"a count that falls", judge{restarts: any}, []*v1.Pod{pod("1", v1.PodRunning, 2, "a"), pod("2", v1.PodRunning, 1, "a")}, "web u: the restart count of c fell from 2 to 1"},
		{"another container", judge{}, []*v1.Pod{pod("1", v1.PodRunning, 0, "a"), pod("2", v1.PodRunning, 0, "b")}, `web u: container c is "b" after "a"`},
		{"a container that waits again", judge{}, []*v1.Pod{pod("1", v1.PodRunning, 0, "a-ended"), pod("2", v1.PodRunning, 0, "a")}, "web u: container c went back to "},
		{"an old version", judge{}, []*v1.Pod{pod("2", v1.PodRunning, 0, "a"), pod("1", v1.PodRunning, 0, "a")}, "web u: the server shows version 1 after 2"},
		{"by hand", judge{byHand: true}, []*v1.Pod{pod("1", v1.PodFailed, 0, "a"), pod("2", v1.PodRunning, 0, "a")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pod := range c.seen {
				c.judge.checkObject(pod)
			}
			if c.want == "" {
				assert.Empty(t, c.judge.wrong)
			} else if assert.Len(t, c.judge.wrong, 1) {
				assert.Contains(t, c.judge.wrong[0], c.want)
			}
		})
	}
	t.Run("machine", func(t *testing.T) {
		stay := func(name string) bool { return name == "stay" }
		var j judge
		j.checkRunning([]ran{{"u", "web", "c", "1"}, {"v", "stay", "c", "2"}}, stay)
		j.checkRunning([]ran{{"v", "stay", "c", "2"}}, stay)
		assert.Empty(t, j.wrong)
		j.checkRunning([]ran{{"u", "web", "c", "1"}, {"u", "web", "c", "3"}}, stay)
		assert.Equal(t, []string{"u web/c runs twice: 1 and 3", `v stay/c is "" on the machine, not "2" any more`}, j.wrong)
	})
}
