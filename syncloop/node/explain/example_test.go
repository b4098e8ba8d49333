package explain_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// A pod, its status, and when its container is started again are enough for the
// sentence.
func ExampleExplain() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "server"}}},
	}
	status := &v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "server", RestartCount: 4,
		State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(now.Add(-10 * time.Second)),
		}},
	}}}
	e := explain.Explain(explain.Facts{
		Now: now, Pod: pod, Desired: true, Status: status,
		Worker:       explain.Worker{Known: true, Phase: "syncing", Step: explain.Idle, NextAt: now.Add(70 * time.Second)},
		BackoffUntil: map[string]time.Time{"server": now.Add(70 * time.Second)},
	})
	fmt.Println(e.Sentence)
	fmt.Println(e.Next.At.Sub(now), "from now:", e.Next.Why)
	// Output:
	// default/web is Running: container "server" waits: CrashLoopBackOff, next try in 1m10s: it terminated with exit code 1 (Error)
	// 1m10s from now: crash-loop back-off of container "server" is over
}
