package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// AdmitOS refuses a pod that was written for another operating system than the
// node's, as its spec.os or its label kubernetes.io/os says.
func AdmitOS(os string) PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		pod := attrs.Pod
		if label, ok := pod.Labels[v1.LabelOSStable]; ok && label != os {
			return PodAdmitResult{
				Reason:  "PodOSSelectorNodeLabelDoesNotMatch",
				Message: fmt.Sprintf("the pod's label %s says %q, and the node's operating system is %s", v1.LabelOSStable, label, os),
			}
		}
		if pod.Spec.OS != nil && string(pod.Spec.OS.Name) != os {
			return PodAdmitResult{
				Reason:  "PodOSNotSupported",
				Message: fmt.Sprintf("the pod's spec.os is %q, and the node's operating system is %s", pod.Spec.OS.Name, os),
			}
		}
		return admitted
	})
}
