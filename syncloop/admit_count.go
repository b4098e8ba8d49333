package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

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
		refusal := Refused(Reason{
			Kind: KindPodCount, Reason: "OutOfpods", Message: fmt.Sprintf("the node runs %d pods and takes at most %d", n, max),
			Resource: v1.ResourcePods, Requested: number(1), Used: number(n), Capacity: number(max),
		})
		refusal.short = admission.ShortOf(v1.ResourcePods, number(1), number(max))
		return refusal
	})
}

func number(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
