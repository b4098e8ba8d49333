package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// QOSClass returns the quality of service class of a pod, from cpu and memory. It is Guaranteed if
// every container has limits for both and requests no less, BestEffort if no container has a
// request or limit, and otherwise Burstable. Resources of the pod as a whole replace the resources of its
// containers. A pod whose own resources have only huge pages is BestEffort. QOSClass changes
// nothing and may be called concurrently.
func QOSClass(pod *v1.Pod) v1.PodQOSClass { return podspec.QOSClass(pod) }
