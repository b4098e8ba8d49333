package syncloop

import "fmt"

// DefaultMaxPods is how many pods a node takes, as for the kubelet.
const DefaultMaxPods = 110

// AdmitPodCount refuses a pod when max pods are active already; 0 is
// DefaultMaxPods.
func AdmitPodCount(max int) PodAdmitHandler {
	if max == 0 {
		max = DefaultMaxPods
	}
	return bySums(func(_ PodAdmitAttributes, others sums) PodAdmitResult {
		n := others.count()
		if n < max {
			return admitted
		}
		return PodAdmitResult{
			Reason:  "OutOfpods",
			Message: fmt.Sprintf("the node runs %d pods and takes at most %d", n, max),
		}
	})
}
