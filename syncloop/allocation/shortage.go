package allocation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Shortage is a refusal that stands for as long as other pods claim too much: with thousands of pods
// that wait, the rules need not be asked about each of them when one pod has ended. Chain.Shortage
// makes it. The zero value is none.
type Shortage struct {
	resource v1.ResourceName
	room     resource.Quantity // how much of it other pods may claim for this one to fit
	slot     int
}

// isStillShort reports whether these pods claim too much.
func (s *Shortage) isStillShort(others podSet) bool {
	if s.resource == "" {
		return false
	}
	claimed := others.requested(s.slot, s.resource)
	return claimed.Cmp(s.room) > 0
}
