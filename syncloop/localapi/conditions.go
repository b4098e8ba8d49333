package localapi

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// statusSub is the subresource by which clients write the conditions of a pod that its node
// does not write: those of readiness gates.
const statusSub = "status"

// ofOthers are the conditions that the node of a pod does not write.
func ofOthers(conditions []v1.PodCondition) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c v1.PodCondition) bool { return podstatus.IsNodeCondition(c.Type) })
}

// setOthers gives a status of the node the conditions of others as clients have written them to
// the desired pod. The node may show older ones: it syncs a pod for them only if the pod has a
// readiness gate.
func setOthers(status *v1.PodStatus, desired *v1.Pod) {
	own := slices.DeleteFunc(slices.Clone(status.Conditions), func(c v1.PodCondition) bool { return !podstatus.IsNodeCondition(c.Type) })
	status.Conditions = append(own, desired.Status.Conditions...)
}

// checkConditions is what a real server has against conditions, of which those of others count.
func checkConditions(conditions []v1.PodCondition) (errs field.ErrorList) {
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
