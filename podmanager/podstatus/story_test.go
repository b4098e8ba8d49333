package podstatus_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// TestStories runs the texts in testdata. A block is the command conclude and lines that
// describe a pod:
//
//	pod policy=Never init=i,s* main=a,b [deleted] [api=Failed/Why] [gate=g] [open=g] [from=cond]
//	                           an init container with a star is a sidecar; from: a condition
//	                           that the pod came with
//	spec a policy=Never restarts-all=42
//	a running|waiting|exited=1 [started] [ready] [id=a1] [last=1@a0] [why=Error]
//	observed sandbox lost ending terminated static restarting-all initialized=false
//	observed restarting=a,b outdated=a
//	previous Failed/Why [condition=DisruptionTarget] [message=m]
//	previous again             the result of concluding the same before
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				require.Equal(t, "conclude", d.Cmd, d.Pos)
				return concludeStatus(t, d.Input)
			})
		})
	}
}

// harness is a pod as it is described.
type harness struct {
	t      *testing.T
	pod    *v1.Pod
	status v1.PodStatus
	seen   podstatus.Observed
	again  bool
}

func concludeStatus(t *testing.T, text string) string {
	h := &harness{t: t, pod: &v1.Pod{}}
	h.pod.Generation = 7
	h.pod.Spec.Containers = []v1.Container{{Name: "a"}}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			h.readLine(f[0], f[1:])
		}
	}
	status := podstatus.Conclude(h.pod, h.status, h.seen)
	if h.again {
		h.seen.Previous = &status
		next := podstatus.Conclude(h.pod, h.status, h.seen)
		require.Equal(t, status, next)
		next.Conditions[0].Message = "changed"
		require.Empty(t, status.Conditions[0].Message, "the conditions are a list of their own")
	}
	return describeStatus(&status)
}

func describeStatus(s *v1.PodStatus) string {
	var out strings.Builder
	fmt.Fprint(&out, s.Phase)
	if s.Reason != "" || s.Message != "" {
		fmt.Fprintf(&out, " %s: %s", s.Reason, s.Message)
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&out, "\n%s=%s", c.Type, c.Status)
		if c.Reason != "" {
			fmt.Fprintf(&out, " %s", c.Reason)
		}
		if c.Message != "" {
			fmt.Fprintf(&out, ": %s", c.Message)
		}
		if c.ObservedGeneration != 7 {
			fmt.Fprintf(&out, " generation=%d", c.ObservedGeneration)
		}
	}
	return out.String() + "\n"
}

func (h *harness) readLine(word string, args []string) {
	switch word {
	case "pod":
		h.forEachArg(args, h.setPod)
	case "spec":
		c := h.findContainer(args[0])
		h.forEachArg(args[1:], func(k, v string) { h.setContainerSpec(c, k, v) })
	case "observed":
		h.forEachArg(args, h.setRecord)
	case "previous":
		h.forEachArg(args, h.setPublished)
	default:
		h.forEachArg(args, h.containerStatus(word))
	}
}

func (h *harness) forEachArg(args []string, do func(key, value string)) {
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		do(key, value)
	}
}

func (h *harness) setPod(key, value string) {
	switch key {
	case "policy":
		h.pod.Spec.RestartPolicy = v1.RestartPolicy(value)
	case "init":
		for _, name := range strings.Split(value, ",") {
			c := v1.Container{Name: strings.TrimSuffix(name, "*")}
			if c.Name != name {
				c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			}
			h.pod.Spec.InitContainers = append(h.pod.Spec.InitContainers, c)
		}
	case "main":
		h.pod.Spec.Containers = nil
		for _, name := range strings.Split(value, ",") {
			h.pod.Spec.Containers = append(h.pod.Spec.Containers, v1.Container{Name: name})
		}
	case "deleted":
		h.pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	case "api":
		h.pod.Status.Phase, h.pod.Status.Reason = phaseOf(value)
	case "gate":
		h.pod.Spec.ReadinessGates = append(h.pod.Spec.ReadinessGates, v1.PodReadinessGate{ConditionType: v1.PodConditionType(value)})
	case "open", "from":
		h.pod.Status.Conditions = append(h.pod.Status.Conditions, v1.PodCondition{Type: v1.PodConditionType(value), Status: v1.ConditionTrue})
	default:
		h.t.Fatalf("pod %s", key)
	}
}

func phaseOf(s string) (v1.PodPhase, string) {
	phase, reason, _ := strings.Cut(s, "/")
	return v1.PodPhase(phase), reason
}

func (h *harness) findContainer(name string) *v1.Container {
	for _, list := range [][]v1.Container{h.pod.Spec.InitContainers, h.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	h.t.Fatalf("no container %s", name)
	return nil
}

func (h *harness) setContainerSpec(c *v1.Container, key, value string) {
	switch key {
	case "policy":
		c.RestartPolicy = new(v1.ContainerRestartPolicy(value))
	case "restarts-all":
		c.RestartPolicyRules = []v1.ContainerRestartRule{restartRule("RestartAllContainers", "In", h.parseCode(value))}
	}
}

func (h *harness) parseCode(s string) int32 {
	code, err := strconv.Atoi(s)
	require.NoError(h.t, err)
	return int32(code)
}

func (h *harness) setRecord(key, value string) {
	switch key {
	case "sandbox":
		h.seen.SandboxReady = true
	case "lost":
		h.seen.SandboxLost = true
	case "ending":
		h.seen.Ending = true
	case "terminated":
		h.seen.Terminated = true
	case "static":
		h.seen.Static = true
	case "restarting-all":
		h.seen.RestartingAll = true
	case "initialized":
		h.seen.Initialized = new(value == "true")
	case "restarting":
		h.seen.Restarting = strings.Split(value, ",")
	case "outdated":
		h.seen.Outdated = strings.Split(value, ",")
	default:
		h.t.Fatalf("observed %s", key)
	}
}

func (h *harness) setPublished(key, value string) {
	if key == "again" {
		h.again = true
		return
	}
	if h.seen.Previous == nil {
		h.seen.Previous = &v1.PodStatus{}
	}
	if key == "message" {
		h.seen.Previous.Message = value
		return
	}
	if key == "condition" {
		h.seen.Previous.Conditions = append(h.seen.Previous.Conditions, v1.PodCondition{Type: v1.PodConditionType(value), Status: v1.ConditionTrue})
		return
	}
	h.seen.Previous.Phase, h.seen.Previous.Reason = phaseOf(key)
}

// containerStatus adds a status of a container, and returns what reads its words.
func (h *harness) containerStatus(name string) func(key, value string) {
	list := &h.status.ContainerStatuses
	for _, c := range h.pod.Spec.InitContainers {
		if c.Name == name {
			list = &h.status.InitContainerStatuses
		}
	}
	*list = append(*list, v1.ContainerStatus{Name: name})
	c := &(*list)[len(*list)-1]
	return func(key, value string) {
		switch key {
		case "running":
			c.State.Running = &v1.ContainerStateRunning{}
		case "waiting":
			c.State.Waiting = &v1.ContainerStateWaiting{}
		case "exited":
			c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: h.parseCode(value)}
		case "last":
			code, id, _ := strings.Cut(value, "@")
			c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: h.parseCode(code), ContainerID: id}
		case "why":
			podstatus.LastTermination(c).Reason = value
		case "started":
			c.Started = new(true)
		case "ready":
			c.Ready = true
		case "id":
			c.ContainerID = value
		default:
			h.t.Fatalf("%s %s", name, key)
		}
	}
}
