package reconcile

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	now     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	earlier = now.Add(-time.Hour)
)

// podWith builds a pod with the regular containers a and b, and init
// containers of the given names; those that begin with "side" are sidecars.
func podWith(init ...string) *v1.Pod {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	for _, name := range init {
		c := v1.Container{Name: name}
		if strings.HasPrefix(name, "side") {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	return pod
}

func waitingContainer(name string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
}

func runningContainer(name string) v1.ContainerStatus {
	yes := true
	return v1.ContainerStatus{
		Name: name, ContainerID: "mem://" + name, Ready: true, Started: &yes,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(earlier)}},
	}
}

func exitedContainer(name string, code int32) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, ContainerID: "mem://" + name, State: v1.ContainerState{
		Terminated: &v1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.NewTime(earlier), FinishedAt: metav1.NewTime(earlier)},
	}}
}

// crashedContainer returns a container that waits for its restart.
func crashedContainer(name string, code int32) v1.ContainerStatus {
	c := exitedContainer(name, code)
	c.State, c.LastTerminationState = waitingContainer(name).State, c.State
	return c
}

func statusList(s ...v1.ContainerStatus) []v1.ContainerStatus { return s }

func newCondition(t v1.PodConditionType, s v1.ConditionStatus, at time.Time) v1.PodCondition {
	return v1.PodCondition{Type: t, Status: s, LastTransitionTime: metav1.NewTime(at)}
}
