package syncloop

import (
	"fmt"

	"github.com/podkeel/podkeel/internal/podspec"
)

// AdmitHostPorts refuses a pod that wants a host port which another pod holds.
func AdmitHostPorts() PodAdmitHandler {
	return bySums(func(attrs PodAdmitAttributes, others sums) PodAdmitResult {
		for _, port := range podspec.HostPorts(attrs.Pod) {
			if holder, taken := others.holder(port); taken {
				return PodAdmitResult{
					Reason:  "NodePorts",
					Message: fmt.Sprintf("host port %s is taken by pod %s/%s", port, holder.Namespace, holder.Name),
				}
			}
		}
		return admitted
	})
}
