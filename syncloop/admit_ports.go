package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// AdmitHostPorts refuses a pod that wants a host port which another pod holds. A static pod waits
// for the port instead.
func AdmitHostPorts() PodAdmitHandler {
	return bySums(func(attrs PodAdmitAttributes, others sums) PodAdmitResult {
		var reasons []Reason
		for _, port := range podspec.HostPorts(attrs.Pod) {
			if holder, taken := others.holder(port); taken {
				reasons = append(reasons, Reason{
					Kind: KindHostPort, Reason: "NodePorts", Message: fmt.Sprintf("host port %s is taken by pod %s/%s", port, holder.Namespace, holder.Name),
					Port:   v1.ContainerPort{HostIP: port.IP, HostPort: port.Port, Protocol: port.Protocol},
					Holder: types.NamespacedName{Namespace: holder.Namespace, Name: holder.Name},
				})
			}
		}
		return Refused(reasons...)
	})
}
