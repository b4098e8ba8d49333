package syncloop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// AdmitResources refuses a pod that asks for more of a resource than is left of
// it. Allocatable is what pods may have together, "pods" among it being
// how many there may be. A resource that is not in it is not checked.
func AdmitResources(allocatable v1.ResourceList) PodAdmitHandler {
	allocatable = allocatable.DeepCopy()
	order := slices.SortedFunc(maps.Keys(allocatable), byImportance)
	return bySums(func(attrs PodAdmitAttributes, others sums) PodAdmitResult {
		wanted := podspec.ClaimOf(attrs.Pod).Requests
		var reasons []Reason
		for _, name := range order {
			want, ok := wanted[name]
			if !ok || want.Sign() <= 0 {
				continue
			}
			if used := others.requested(name); exceeds(want, used, allocatable[name]) {
				reasons = append(reasons, outOf(name, want, used, allocatable[name]))
			}
		}
		refusal := Refused(reasons...)
		if len(reasons) > 0 {
			refusal.short = admission.ShortOf(reasons[0].Resource, reasons[0].Requested, reasons[0].Capacity)
		}
		return refusal
	})
}

// exceeds: there is not so much left of a resource.
func exceeds(want, used, capacity resource.Quantity) bool {
	sum := used.DeepCopy()
	sum.Add(want)
	return sum.Cmp(capacity) > 0
}

func outOf(name v1.ResourceName, want, used, capacity resource.Quantity) Reason {
	return Reason{
		Kind: KindResource, Reason: "OutOf" + string(name), Resource: name, Requested: want, Used: used, Capacity: capacity,
		Message: fmt.Sprintf("the node has not enough %s: requested %s, used %s, capacity %s",
			name, want.String(), used.String(), capacity.String()),
	}
}

// byImportance orders resources as the kubelet looks at them: the first that
// does not fit is the reason.
func byImportance(a, b v1.ResourceName) int {
	if x, y := importance(a), importance(b); x != y {
		return x - y
	}
	return strings.Compare(string(a), string(b))
}

func importance(name v1.ResourceName) int {
	first := [...]v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	if i := slices.Index(first[:], name); i >= 0 {
		return i
	}
	return len(first)
}
