package nodestatus

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Event is an event to be recorded about a node.
type Event struct{ Type, Reason, Message string }

// conditionReasons returns the event reasons for a node condition that has become true, and false. They are
// empty for a condition that the node does not own.
func conditionReasons(conditionType v1.NodeConditionType) (whenTrue, whenFalse string) {
	switch conditionType {
	case v1.NodeReady:
		return "NodeReady", "NodeNotReady"
	case v1.NodeMemoryPressure:
		return "NodeHasInsufficientMemory", "NodeHasSufficientMemory"
	case v1.NodeDiskPressure:
		return "NodeHasDiskPressure", "NodeHasNoDiskPressure"
	case v1.NodePIDPressure:
		return "NodeHasInsufficientPID", "NodeHasSufficientPID"
	}
	return "", ""
}

// Events returns the events for a change of the node's object at the server. It ignores conditions that
// another component has set to unknown.
func Events(before, after *v1.Node) (all []Event) {
	add := func(reason string) {
		all = append(all, Event{v1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", after.Name, reason)})
	}
	if old, now := before.Status.NodeInfo.BootID, after.Status.NodeInfo.BootID; old != "" && old != now {
		all = append(all, Event{v1.EventTypeWarning, "Rebooted", fmt.Sprintf("Node %s has been rebooted, boot id: %s", after.Name, now)})
	}
	for _, c := range after.Status.Conditions {
		same := func(old v1.NodeCondition) bool { return old.Type == c.Type && old.Status == c.Status }
		whenTrue, whenFalse := conditionReasons(c.Type)
		switch {
		case whenTrue == "" || slices.ContainsFunc(before.Status.Conditions, same):
		case c.Status == v1.ConditionTrue:
			add(whenTrue)
		case c.Status == v1.ConditionFalse:
			add(whenFalse)
		}
	}
	switch was, is := before.Spec.Unschedulable, after.Spec.Unschedulable; {
	case is && !was:
		add("NodeNotSchedulable")
	case was && !is:
		add("NodeSchedulable")
	}
	return all
}
