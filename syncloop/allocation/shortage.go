package allocation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Shortage says how long a refusal is valid: while other pods claim too much of a resource. With thousands of
// waiting pods the rules need not be asked about each of them when one pod has stopped. Chain.Shortage makes
// it. The zero value has no resource and is never valid.
type Shortage struct {
	resource v1.ResourceName
	room     resource.Quantity // the amount that other pods may claim so that this pod fits
	slot     int
}

// isStillShort reports whether the other pods claim so much of the missing resource that the pod still does not
// fit. It returns false if no resource was missing.
func (s *Shortage) isStillShort(otherPods podSet) bool {
	if s.resource == "" {
		return false
	}
	claimed := otherPods.requestedQuantity(s.slot, s.resource)
	return claimed.Cmp(s.room) > 0
}
