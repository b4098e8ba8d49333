package policy_test

import (
	"fmt"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// A container has crashed three times. The newest record of its name stays, and by
// default nothing else.
func ExampleContainers_Decide() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &runtime.PodStatus{UID: "u1", Name: "web"}
	for attempt := range uint32(3) {
		ended := now.Add(time.Duration(attempt)*time.Minute - time.Hour)
		pod.Containers = append(pod.Containers, runtime.ContainerStatus{
			Container: runtime.Container{ID: fmt.Sprint("c", attempt), Name: "web", Attempt: attempt, State: runtime.StateExited},
			CreatedAt: ended, FinishedAt: ended,
		})
	}
	for _, limits := range []policy.Containers{{}, {MaxPerPodContainer: 2}, {MaxPerPodContainer: -1, MaxAge: 59 * time.Minute}} {
		removals := limits.Decide([]*runtime.PodStatus{pod}, now)
		fmt.Println(removals[0].Containers)
	}
	// Output:
	// [c0 c1]
	// [c0]
	// [c0 c1]
}

// A disk is 90 % full. Images that no container refers to are removed, the least recently used first, until enough
// space is free.
func ExampleImages_ToRemove() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	limits := policy.Images{}.Complete()
	images := []policy.Image{
		{ID: "web:2", SizeBytes: 40, FirstSeen: now.Add(-time.Hour), Used: true},
		{ID: "web:1", SizeBytes: 40, FirstSeen: now.Add(-2 * time.Hour), LastUsed: now.Add(-time.Hour)},
		{ID: "new:1", SizeBytes: 40, FirstSeen: now.Add(-time.Minute)},
	}
	tooMuch := limits.BytesToFree(policy.Disk{CapacityBytes: 1000, UsedBytes: 900})
	fmt.Println("bytes to free:", tooMuch)
	for _, image := range limits.ToRemove(images, now.Add(-3*time.Hour), now, tooMuch > 0) {
		fmt.Println("remove", image.ID)
	}
	// Output:
	// bytes to free: 100
	// remove web:1
}

// A log is full for the third time, and may have three files at most.
func ExampleLogs_Rotate() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rotation := policy.Logs{MaxFiles: 3}.Complete().Rotate("0.log", []policy.LogFile{
		{Name: "0.log.20260101-110000.gz"},
		{Name: "0.log.20260101-113000"},
	}, now)
	fmt.Println("remove", rotation.Remove)
	fmt.Println("rename 0.log to", rotation.Name)
	fmt.Println("compress", rotation.Compress)
	// Output:
	// remove [0.log.20260101-110000.gz]
	// rename 0.log to 0.log.20260101-120000
	// compress [0.log.20260101-113000]
}
