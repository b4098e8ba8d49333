package podresources_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// A pod of two containers. Only one limits its memory, so the cgroup of the pod has no memory limit.
func ExampleValuesForPod() {
	limits := v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("64Mi")}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "web", Resources: v1.ResourceRequirements{Limits: limits}},
		{Name: "log", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}},
	}}}
	values := podresources.ValuesForPod(pod, podresources.Policy{MaxPIDs: podresources.Finite(100)})
	fmt.Println(values.QOSClass, "shares", values.CPUShares, "quota", values.CPUQuota, "memory", values.Memory, "pids", values.PIDs)
	fmt.Println("oom_score_adj", podresources.OOMScoreAdj(pod, &pod.Spec.Containers[0], 1<<30))
	// Output:
	// Burstable shares 614 quota 60000 memory unlimited pids 100
	// oom_score_adj 938
}
