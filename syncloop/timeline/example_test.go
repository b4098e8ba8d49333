package timeline_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Two statuses of a pod are enough for a drawing.
func ExampleBuild() {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	pod.Status = v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "server", State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
	}}}
	log := timeline.NewLog(0)
	log.Add(timeline.Record{At: start, Kind: timeline.KindStatus, Status: timeline.StatusOf(pod, "1/1 Running")})
	pod.Status.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start.Add(3 * time.Second)),
	}}
	log.Add(timeline.Record{At: start.Add(3 * time.Second), Kind: timeline.KindStatus, Status: timeline.StatusOf(pod, "0/1 Error")})
	fmt.Print(timeline.Build(log.Records(), timeline.Options{Now: start.Add(5 * time.Second)}))
	// Output:
	// default/web 5s
	// worker (worker)
	//   0s..5s+ plain "syncing"
	// server (container)
	//   0s..3s failed "exit 1": first run; exit code 1 Error
	// status (status)
	//   0s..3s running "1/1 Running": phase Running
	//   3s..5s+ waiting "0/1 Error": phase Running
}

func ExampleNewLog() {
	log := timeline.NewLog(2)
	for i := range 5 {
		log.Add(timeline.Record{At: time.Unix(int64(i), 0), Kind: timeline.KindEvent, Name: fmt.Sprint("Event", i)})
	}
	for _, r := range log.Records() {
		fmt.Println(r.Name)
	}
	fmt.Println(log.Dropped(), "dropped")
	// Output:
	// Event3
	// Event4
	// 3 dropped
}
