package node

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkFits is one question on a node that has pods, about a pod that fits, with cpu, memory
// and a host port to look at.
func BenchmarkFits(b *testing.B) {
	for _, count := range []int{0, 30, 110} {
		b.Run(fmt.Sprint("pods=", count), func(b *testing.B) {
			n, err := New(Config{Scheduling: SchedulingConfig{MaxPods: 2000, Capacity: resourceRequests("2000", "2000Gi")}})
			require.NoError(b, err)
			pods := benchPods(count + 1)
			for i, pod := range pods {
				pod.Spec.Containers[0].Resources.Requests = resourceRequests("1", "1Gi")
				pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(1000 + i)}}
			}
			require.NoError(b, n.Replace(pods[1:]))
			require.NoError(b, n.Scheduling().Fits(pods[0])) // The others are judged once.
			b.ReportAllocs()
			for b.Loop() {
				if err := n.Scheduling().Fits(pods[0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func resourceRequests(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}
