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

// isStillShort reports whether the other pods still claim too much.
func (s *Shortage) isStillShort(others podSet) bool {
	if s.resource == "" {
		return false
	}
	claimed := others.requestedQuantity(s.slot, s.resource)
	return claimed.Cmp(s.room) > 0
}
