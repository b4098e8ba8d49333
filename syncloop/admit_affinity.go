package syncloop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitNodeAffinity returns a handler that refuses a pod whose node selector or required node affinity does
// not match the node. As in the kubelet, it checks requiredDuringSchedulingIgnoredDuringExecution too.
func AdmitNodeAffinity(name string, nodeLabels map[string]string) PodAdmitHandler {
	node := selectable{podspec.Node{Name: name, Labels: maps.Clone(nodeLabels)}}
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		return Refused(append(node.nodeSelectorMismatches(&attrs.Pod.Spec), node.nodeAffinityMismatch(&attrs.Pod.Spec)...)...)
	})
}

// nodeSelectorMismatches returns one reason for each label of spec.nodeSelector that the node does not have
// with that value.
func (s selectable) nodeSelectorMismatches(spec *v1.PodSpec) (reasons []allocation.Reason) {
	for _, key := range s.missingLabels(spec.NodeSelector) {
		r := nodeAffinityReason("spec.nodeSelector", fmt.Sprintf("spec.nodeSelector wants %s=%s, and the node has %s", key, spec.NodeSelector[key], s.describeLabel(key)))
		r.Label = key
		reasons = append(reasons, r)
	}
	return reasons
}

// nodeAffinityMismatch returns one reason if the required node affinity does not match the node or cannot be
// parsed. It returns nil if the affinity matches or the pod has none.
func (s selectable) nodeAffinityMismatch(spec *v1.PodSpec) []allocation.Reason {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	ok, err := s.Matches(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	switch {
	case ok:
		return nil
	case err != nil:
		return []allocation.Reason{nodeAffinityReason(field, "cannot parse the required node affinity: "+strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return []allocation.Reason{nodeAffinityReason(field, "no term of the required node affinity matches this node")}
}

// nodeAffinityReason returns a reason of the kind NodeAffinity with the given field and message.
func nodeAffinityReason(field, message string) allocation.Reason {
	return allocation.Reason{Kind: allocation.KindNodeAffinity, Reason: "NodeAffinity", Message: message, Field: field}
}

// selectable is a node that selectors are matched against.
type selectable struct{ podspec.Node }

// missingLabels returns the sorted label keys of the selector whose label the node does not have, or has with
// another value.
func (s selectable) missingLabels(selector map[string]string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if have, ok := s.Labels[key]; !ok || have != selector[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// describeLabel returns "key=value" for a label of the node, or "no such label" if the node does not have it.
func (s selectable) describeLabel(key string) string {
	if value, ok := s.Labels[key]; ok {
		return key + "=" + value
	}
	return "no such label"
}
