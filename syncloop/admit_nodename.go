package syncloop

import (
	"fmt"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitNodeName refuses a pod whose spec.nodeName is that of another node. A pod
// without one has been placed by its source, and is admitted.
func AdmitNodeName(name string) PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		if assigned := attrs.Pod.Spec.NodeName; assigned != "" && assigned != name {
			return Refused(allocation.Reason{
				Kind: allocation.KindNodeName, Reason: "NodeName", Field: "spec.nodeName",
				Message: fmt.Sprintf("spec.nodeName is %q, and this node is %q", assigned, name),
			})
		}
		return admitted
	})
}
