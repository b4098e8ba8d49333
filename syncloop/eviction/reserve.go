package eviction

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ReservedByThresholds returns the part of the capacity that the hard thresholds of memory.available and
// nodefs.available keep free. Pods that together request all of the capacity would be evicted, so a node subtracts it
// from the resources that pods may request. It never exceeds the capacity. A resource without a capacity is absent.
func ReservedByThresholds(thresholds []Threshold, capacity v1.ResourceList) v1.ResourceList {
	reserved := v1.ResourceList{}
	for _, t := range thresholds {
		name, counts := reservedResources[t.Signal]
		available, declared := capacity[name]
		if !counts || !declared || t.IsSoft() {
			continue
		}
		all := valueSaturating(&available)
		if amount := min(t.Value.Of(all), all); amount > 0 {
			reserved[name] = *resource.NewQuantity(amount, resource.BinarySI)
		}
	}
	return reserved
}

// reservedResources has the resource of each signal whose hard threshold counts as reserved.
var reservedResources = map[Signal]v1.ResourceName{MemoryAvailable: v1.ResourceMemory, NodeFsAvailable: v1.ResourceEphemeralStorage}
