package patch

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// nodeFields returns the fields of a node's status that the node owns, each with its value and with how a patch
// changes it. Conditions are not included.
func nodeFields(s *v1.NodeStatus) []field {
	return []field{
		{"addresses", s.Addresses, replaceList},
		{"capacity", s.Capacity, setKeys},
		{"allocatable", s.Allocatable, setKeys},
		{"daemonEndpoints", s.DaemonEndpoints, setKeys},
		{"nodeInfo", s.NodeInfo, setKeys},
		{"images", s.Images, replaceValue},
		{"runtimeHandlers", s.RuntimeHandlers, replaceValue},
		{"features", s.Features, setAndRemoveKeys},
		{"declaredFeatures", s.DeclaredFeatures, replaceValue},
	}
}

// NodeStatus returns the strategic merge patch that changes the status of a node from server to want: the
// fields that the node owns, and the conditions that want has. A nil server means that the status at the
// server is not known. It returns nil if nothing differs. Heartbeat times are compared like any other field;
// the caller decides whether to send. It changes neither argument.
func NodeStatus(server, want *v1.NodeStatus) ([]byte, error) {
	known := server != nil
	if !known {
		server = &v1.NodeStatus{}
	}
	o := object{}
	if err := o.addDifferences(known, nodeFields(server), nodeFields(want)); err != nil {
		return nil, err
	}
	old := map[v1.NodeConditionType]v1.NodeCondition{}
	for _, c := range server.Conditions {
		old[c.Type] = c
	}
	var changed []object
	for _, c := range want.Conditions {
		if before, was := old[c.Type]; !was || !equality.Semantic.DeepEqual(before, c) {
			changed = append(changed, object{
				"type": c.Type, "status": c.Status, "reason": nilIfZero(c.Reason), "message": nilIfZero(c.Message),
				"lastHeartbeatTime": c.LastHeartbeatTime, "lastTransitionTime": c.LastTransitionTime,
			})
		}
	}
	if len(changed) > 0 {
		o["conditions"] = changed
	}
	if len(o) == 0 {
		return nil, nil
	}
	return marshalPatch(object{"status": o})
}
