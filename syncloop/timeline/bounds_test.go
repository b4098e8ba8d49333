package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sixteen containers per record are kept. One more drops records at once, until half of them is left.
func TestLog_ContainersSharp(t *testing.T) {
	kept := func(sizes ...int) (left []int) {
		l := NewLog(4)
		for _, n := range sizes {
			l.Add(Record{Kind: KindStatus, Status: &Status{Containers: make([]Container, n)}})
		}
		for _, r := range l.Records() {
			left = append(left, r.containerCount())
		}
		assert.Equal(t, len(sizes)-len(left), l.Dropped())
		return left
	}
	assert.Equal(t, []int{32, 16, 16}, kept(32, 16, 16))
	assert.Equal(t, []int{16, 16}, kept(33, 16, 16), "half of 64")
	assert.Equal(t, []int{16}, kept(32, 17, 16))
}

// A result is merged only with the last result of its probe, not with an older equal one.
func TestLog_JoinsTheLastResult(t *testing.T) {
	l := NewLog(8)
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	probe := func(n int, err string) {
		l.Add(Record{At: at(n), Kind: KindProbe, Container: "c", Name: "liveness", Err: err})
	}
	probe(1, "")
	probe(2, "down")
	l.Add(Record{At: at(3), Kind: KindEvent, Name: "Unhealthy"})
	probe(4, "")
	probe(5, "")
	var seen []int64
	for _, r := range l.Records() {
		seen = append(seen, r.At.Unix())
	}
	assert.Equal(t, []int64{1, 2, 3, 5}, seen)
}

func TestClean_Bounds(t *testing.T) {
	long := strings.Repeat("x", MaxText)
	assert.Equal(t, long, shortPrintableLine(long))
	assert.Equal(t, long+"...", shortPrintableLine(long+"x"))
	assert.Equal(t, long[:MaxText-1]+"...", shortPrintableLine(long[:MaxText-1]+"ü"), "no half characters")
	assert.Equal(t, "a b", shortPrintableLine("a\n\tb"))
	assert.Equal(t, "a?b", shortPrintableLine("a\xffb"))
}

func TestStatusOf(t *testing.T) {
	started, ended := metav1.Unix(1, 0), metav1.Unix(2, 0)
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}}
	over := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: started, FinishedAt: ended, ExitCode: 3, Reason: "Error", Message: "m"}}
	always := v1.ContainerRestartPolicyAlways
	never := v1.ContainerRestartPolicyNever
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	pod.Spec.InitContainers = []v1.Container{{Name: "setup"}, {Name: "mesh", RestartPolicy: &always}, {Name: "once", RestartPolicy: &never}}
	pod.Status = v1.PodStatus{
		Phase:      v1.PodRunning,
		Conditions: []v1.PodCondition{{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionFalse}},
		InitContainerStatuses: []v1.ContainerStatus{
			{Name: "setup", State: over}, {Name: "mesh", State: running, LastTerminationState: over, RestartCount: 1}, {Name: "once", State: over}, {Name: "unknown", State: over},
		},
		ContainerStatuses:          []v1.ContainerStatus{{Name: "app", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "R", Message: "m"}}}},
		EphemeralContainerStatuses: []v1.ContainerStatus{{Name: "look", State: running}},
	}
	run, end := &Run{StartedAt: started.Time}, &Run{StartedAt: started.Time, FinishedAt: ended.Time, Ended: true, ExitCode: 3, Reason: "Error", Message: "m"}
	want := &Status{Pod: "default/web", Phase: v1.PodRunning, Summary: "1/2 Running", SandboxReady: true, Containers: []Container{
		{Name: "setup", Kind: Init, Run: end}, {Name: "mesh", Kind: Sidecar, Run: run, Last: end, Restarts: 1}, {Name: "once", Kind: Init, Run: end}, {Name: "unknown", Kind: Init, Run: end},
		{Name: "app", Kind: Regular, Waiting: true, Reason: "R", Message: "m"}, {Name: "look", Kind: Ephemeral, Run: run},
	}}
	assert.Equal(t, want, StatusOf(pod, "1/2 Running"))
	pod.Status.Conditions[0].Status = v1.ConditionFalse
	assert.False(t, StatusOf(pod, "").SandboxReady)
}
