package syncloop

import (
	"fmt"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitNodeName refuses a pod whose spec.nodeName names another node. It admits a pod without one, because its
// source has placed it.
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
