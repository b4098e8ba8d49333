//go:build peer

package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// makePods returns n pods with one container, as an API server returns them. Both drivers get copies of the same pods.
func makePods(n int) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	grace := int64(30)
	for i := range pods {
		pods[i] = &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Namespace: "default", UID: podUID(i), ResourceVersion: "1",
				Labels:      map[string]string{"app": "web", "tier": "front"},
				Annotations: map[string]string{"kubernetes.io/config.source": "api"},
			},
			Spec: v1.PodSpec{
				NodeName: "node", RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
				Containers: []v1.Container{{
					Name: "main", Image: "registry.example/web:1",
					Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
						v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("64Mi"),
					}},
				}},
			},
			Status: v1.PodStatus{Phase: v1.PodPending},
		}
	}
	return pods
}

// podUID returns the UID of the pod with a number.
func podUID(i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-7b3d-4a1c-9f00-%012d", uint32(i)*2654435761, i))
}

// runningStatus returns the status of a running pod that is ready.
func runningStatus(reason string) v1.PodStatus {
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	started := true
	condition := func(kind v1.PodConditionType) v1.PodCondition {
		return v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: at}
	}
	return v1.PodStatus{
		Phase: v1.PodRunning, Reason: reason, StartTime: &at, HostIP: "10.0.0.1", PodIP: "10.1.0.1", PodIPs: []v1.PodIP{{IP: "10.1.0.1"}},
		Conditions: []v1.PodCondition{condition(v1.PodInitialized), condition(v1.PodReady), condition(v1.ContainersReady), condition(v1.PodScheduled)},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", Ready: true, Started: &started, Image: "registry.example/web:1", ContainerID: "cri://0123456789abcdef",
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at}},
		}},
	}
}

// manifestText returns the manifest of a static pod. Its content differs for each version.
func manifestText(i, version int) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata:
  name: static-%d
  namespace: default
  labels: {app: web}
spec:
  containers:
  - name: main
    image: registry.example/web:%d
    resources: {requests: {cpu: 100m, memory: 64Mi}}
`, i, version)
}
