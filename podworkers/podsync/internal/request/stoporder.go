package request

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// The places in the order in which the containers of a pod are stopped. Those
// of sidecars are greater, and grow from the last one in the spec to the first.
const (
	// Unawaited is an ephemeral container: it is stopped with the first, and
	// nobody waits for it, as one with a shell would use up everybody's grace.
	Unawaited = -1
	// First is any other container.
	First = 0
	// last bounds what is believed of an annotation.
	last = 1000
)

// stopOrder is the place of a container by its name. One that the pod does not
// have is among the first.
func stopOrder(pod *v1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && podspec.IsSidecar(c) {
			return len(pod.Spec.InitContainers) - i
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return Unawaited
		}
	}
	return First
}
