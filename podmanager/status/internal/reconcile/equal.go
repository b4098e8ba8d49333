package reconcile

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Equal reports whether two complete statuses say the same: conditions of ours
// by status, reason and message, in any order; conditions of others not at
// all; everything else in depth. [ST-3]
func Equal(a, b *v1.PodStatus) bool {
	if !sameConditions(a, b) || !sameConditions(b, a) {
		return false
	}
	withoutConditions := *a
	withoutConditions.Conditions = b.Conditions
	return equality.Semantic.DeepEqual(&withoutConditions, b)
}

// sameConditions reports whether b has every condition of ours that a has.
func sameConditions(a, b *v1.PodStatus) bool {
	for i := range a.Conditions {
		ours := &a.Conditions[i]
		if !isOurs(ours.Type) {
			continue
		}
		other := condition(b, ours.Type)
		if other == nil || other.Status != ours.Status || other.Reason != ours.Reason ||
			other.Message != ours.Message || other.ObservedGeneration != ours.ObservedGeneration {
			return false
		}
	}
	return true
}
