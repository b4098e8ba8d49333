package eviction

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// CheckAdmission reports whether a node with these pressure conditions admits a pod, and otherwise returns the
// message of the rejection, whose reason is Reason. Critical pods are always admitted. If memory is the only
// pressure, BestEffort pods are rejected that do not tolerate the taint of the condition.
func CheckAdmission(pod *v1.Pod, conditions []v1.NodeConditionType) (admit bool, message string) {
	if len(conditions) == 0 || podspec.IsCritical(pod) {
		return true, ""
	}
	if !slices.ContainsFunc(conditions, func(c v1.NodeConditionType) bool { return c != v1.NodeMemoryPressure }) {
		if podstatus.QOSClass(pod) != v1.PodQOSBestEffort || toleratesMemoryPressure(pod) {
			return true, ""
		}
	}
	return false, fmt.Sprintf("The node had condition: %v. ", conditions)
}

// toleratesMemoryPressure reports whether the pod tolerates the taint node.kubernetes.io/memory-pressure:NoSchedule.
func toleratesMemoryPressure(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		switch {
		case t.Effect != "" && t.Effect != v1.TaintEffectNoSchedule, t.Key != "" && t.Key != v1.TaintNodeMemoryPressure:
			return false
		case t.Key == "":
			return t.Operator == v1.TolerationOpExists
		}
		return t.Operator == v1.TolerationOpExists || (t.Operator == "" || t.Operator == v1.TolerationOpEqual) && t.Value == ""
	})
}
