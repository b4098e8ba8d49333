package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitOS returns a handler that refuses a pod whose spec.os or label kubernetes.io/os names another operating
// system.
func AdmitOS(os string) PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		pod := attrs.Pod
		var reasons []allocation.Reason
		if label, ok := pod.Labels[v1.LabelOSStable]; ok && label != os {
			reasons = append(reasons, allocation.Reason{
				Kind: allocation.KindOS, Reason: "PodOSSelectorNodeLabelDoesNotMatch", Field: "metadata.labels[" + v1.LabelOSStable + "]",
				Message: fmt.Sprintf("the pod's label %s is %q, and the node's operating system is %s", v1.LabelOSStable, label, os),
			})
		}
		if pod.Spec.OS != nil && string(pod.Spec.OS.Name) != os {
			reasons = append(reasons, allocation.Reason{
				Kind: allocation.KindOS, Reason: "PodOSNotSupported", Field: "spec.os.name",
				Message: fmt.Sprintf("the pod's spec.os is %q, and the node's operating system is %s", pod.Spec.OS.Name, os),
			})
		}
		return Refused(reasons...)
	})
}
