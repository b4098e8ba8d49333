package eviction

import (
	"errors"
	"fmt"

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

// CheckCapacity returns an error for each threshold that is not below the capacity of its resource. Such a threshold is
// met as soon as a pod uses anything, so the node would evict all pods, one after another, and its pressure would never
// end. A percentage from 100 % up is such a threshold of any capacity. CheckCapacity compares only hard thresholds of
// memory.available and nodefs.available with the capacity, as ReservedByThresholds does, and no resource that capacity
// lacks.
func CheckCapacity(thresholds []Threshold, capacity v1.ResourceList) error {
	var faults []error
	for _, t := range thresholds {
		if t.Value.Percent >= 100 {
			faults = append(faults, fmt.Errorf("eviction: the threshold of %s is %v%% of the capacity: the node would evict every pod; lower the threshold", t.Signal, t.Value.Percent))
			continue
		}
		name, counts := reservedResources[t.Signal]
		available, declared := capacity[name]
		if amount := t.Value.Of(valueSaturating(&available)); counts && declared && !t.IsSoft() && amount > 0 && amount >= valueSaturating(&available) {
			faults = append(faults, fmt.Errorf("eviction: the hard threshold of %s is %s, and pods have a capacity of only %s of %s: the node would evict every pod; lower the threshold or raise the capacity",
				t.Signal, t.Value.formatFor(t.Signal, amount), available.String(), name))
		}
	}
	return errors.Join(faults...)
}

// ThresholdsAboveCapacity returns the thresholds that are not below the measured capacity of their signal. While the
// capacity does not change, such a threshold is met as soon as a pod uses anything.
func (o Observations) ThresholdsAboveCapacity(thresholds []Threshold) (above []Threshold) {
	for _, t := range thresholds {
		measured, ok := o.Signals[t.Signal]
		if amount := t.Value.Of(measured.Capacity); ok && amount > 0 && amount >= measured.Capacity {
			above = append(above, t)
		}
	}
	return above
}
