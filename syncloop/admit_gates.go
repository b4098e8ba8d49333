package syncloop

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitGates refuses a pod that still has scheduling gates: their owner does not want it
// to run yet, on this node or any other.
func AdmitGates() PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		if gates := attrs.Pod.Spec.SchedulingGates; len(gates) > 0 {
			return Refused(allocation.Reason{
				Kind: allocation.KindSchedulingGate, Reason: v1.PodReasonSchedulingGated, Field: "spec.schedulingGates",
				Message: "the pod must not be started before its scheduling gates are removed: " + gateNames(gates),
			})
		}
		return admitted
	})
}

func gateNames(gates []v1.PodSchedulingGate) string {
	names := make([]string, len(gates))
	for i, gate := range gates {
		names[i] = gate.Name
	}
	return strings.Join(names, ", ")
}
