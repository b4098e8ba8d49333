package localapi

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// statusSubresource is the subresource by which clients write the pod conditions that the node does not write, such as
// conditions of readiness gates.
const statusSubresource = "status"

// clientConditions returns a copy of a pod's conditions without those types that only the node writes, such as
// Ready.
func clientConditions(conditions []v1.PodCondition) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c v1.PodCondition) bool { return podstatus.IsNodeCondition(c.Type) })
}

// replaceClientConditions replaces the conditions in status that clients own with all conditions of written. written
// is the pod as the client wrote it. Conditions in status that the node owns, such as Ready, stay.
func replaceClientConditions(status *v1.PodStatus, written *v1.Pod) {
	nodeConditions := slices.DeleteFunc(slices.Clone(status.Conditions), func(c v1.PodCondition) bool { return !podstatus.IsNodeCondition(c.Type) })
	status.Conditions = append(nodeConditions, written.Status.Conditions...)
}

// validateClientConditions returns an error for each condition of a client with an invalid type, a type that
// another condition has too, or an unknown status. It ignores conditions that only the node writes.
func validateClientConditions(conditions []v1.PodCondition) (errs field.ErrorList) {
	seen := map[v1.PodConditionType]bool{}
	for i, c := range conditions {
		if podstatus.IsNodeCondition(c.Type) {
			continue
		}
		path := field.NewPath("status", "conditions").Index(i)
		for _, fault := range validation.IsQualifiedName(string(c.Type)) {
			errs = append(errs, field.Invalid(path.Child("type"), string(c.Type), fault))
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), string(c.Type)))
		}
		seen[c.Type] = true
		if !slices.Contains([]v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}, c.Status) {
			errs = append(errs, field.Invalid(path.Child("status"), string(c.Status), fmt.Sprintf("expected %s, %s or %s", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown)))
		}
	}
	return errs
}
