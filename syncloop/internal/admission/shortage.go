package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Shortage is the reason of a refusal that a comparison can tell to stand: with thousands of
// pods that wait, admission need not be asked about each of them when one pod has ended.
type Shortage struct {
	// Resource is what there is too little of; empty: nothing.
	Resource v1.ResourceName
	// Room is how much of it other pods may request for this one to fit.
	Room resource.Quantity
}

// ShortOf is the shortage of a pod that wants more of a resource than is left.
func ShortOf(name v1.ResourceName, want, capacity resource.Quantity) Shortage {
	room := capacity.DeepCopy()
	room.Sub(want)
	return Shortage{Resource: name, Room: room}
}

// stands: these pods request too much.
func (s Shortage) stands(others Taken) bool {
	if s.Resource == "" {
		return false
	}
	requested := others.Requested(s.Resource)
	return requested.Cmp(s.Room) > 0
}
