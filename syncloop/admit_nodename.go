package syncloop

import (
	"fmt"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitNodeName returns a handler that refuses a pod whose spec.nodeName is another node. It admits a pod
// without a node name, because its source has assigned it to this node.
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
