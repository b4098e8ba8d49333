package volumes

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// memoryVolumeBytes returns the size of a tmpfs for a volume of a pod: the smallest of the node's allocatable memory, the
// memory limit of the whole pod, and sizeLimit. A value that is not positive does not count, and sizeLimit may be nil.
// The pod has a limit if it has one of its own or if each container has one. Zero means that no value counts, and the
// kernel's default applies.
func memoryVolumeBytes(pod *v1.Pod, sizeLimit *resource.Quantity, allocatable v1.ResourceList) (size int64) {
	useIfSmaller := func(bytes int64) {
		if bytes > 0 && (size == 0 || bytes < size) {
			size = bytes
		}
	}
	useIfSmaller(bytesSaturating(allocatable.Memory()))
	if limit, isLimited := podresources.ValuesForPod(pod, podresources.Policy{}).Memory.Number(); isLimited {
		useIfSmaller(limit)
	}
	if sizeLimit != nil {
		useIfSmaller(bytesSaturating(sizeLimit))
	}
	return size
}

// bytesSaturating returns a quantity, rounded up. For a quantity above an int64 it returns the largest int64, because
// Quantity.Value returns another number for it: a limit of 10E would be a size of 1.
func bytesSaturating(q *resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return q.Value()
}
