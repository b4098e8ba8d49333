package syncloop

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitGates returns a handler that refuses a pod with scheduling gates: the owner of a gate must remove it
// before the pod may run on any node.
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

// gateNames returns the names of the scheduling gates, separated by commas.
func gateNames(gates []v1.PodSchedulingGate) string {
	names := make([]string, len(gates))
	for i, gate := range gates {
		names[i] = gate.Name
	}
	return strings.Join(names, ", ")
}
