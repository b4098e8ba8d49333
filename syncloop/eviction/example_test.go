package eviction_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/eviction"
)

// A node has 50 MiB of memory left. The pod that uses the most memory is evicted.
func ExamplePolicy_Decide() {
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "100Mi"}}.Thresholds()
	if err != nil {
		panic(err)
	}
	var pods []eviction.Pod
	for name, mebibytes := range map[string]uint64{"web": 300, "batch": 700} {
		pod := eviction.NewPod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main"}}},
		})
		pod.Usage = eviction.Usage{Measured: true, MemoryBytes: new(mebibytes << 20)}
		pods = append(pods, pod)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	observed := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{
		eviction.MemoryAvailable: {Available: 50 << 20, Capacity: 1 << 30, Time: now},
	}}
	decision := eviction.Policy{Thresholds: thresholds}.Decide(eviction.History{}, observed, pods, now)
	fmt.Println(decision.Conditions)
	for _, victim := range decision.Victims {
		fmt.Println(victim.Message)
	}
	// Output:
	// [MemoryPressure]
	// The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.
}
