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

// AdmitNodeAffinity refuses a pod whose node selector, or whose required node
// affinity, does not mean a node of this name with these labels. What is
// only required at scheduling is required here too: this is where the pod was
// placed.
func AdmitNodeAffinity(name string, nodeLabels map[string]string) PodAdmitHandler {
	node := place{podspec.Node{Name: name, Labels: maps.Clone(nodeLabels)}}
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		return Refused(append(node.unselected(&attrs.Pod.Spec), node.repelled(&attrs.Pod.Spec)...)...)
	})
}

// unselected are the labels of the node selector that the node does not have.
func (p place) unselected(spec *v1.PodSpec) (reasons []allocation.Reason) {
	for _, key := range p.lacks(spec.NodeSelector) {
		r := elsewhere("spec.nodeSelector", fmt.Sprintf("spec.nodeSelector wants %s=%s, and the node has %s", key, spec.NodeSelector[key], p.says(key)))
		r.Label = key
		reasons = append(reasons, r)
	}
	return reasons
}

// repelled is why the required node affinity does not select the node.
func (p place) repelled(spec *v1.PodSpec) []allocation.Reason {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	ok, err := p.Matches(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	switch {
	case ok:
		return nil
	case err != nil:
		return []allocation.Reason{elsewhere(field, "the required node affinity cannot be understood: "+strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return []allocation.Reason{elsewhere(field, "no term of the required node affinity means this node")}
}

func elsewhere(field, message string) allocation.Reason {
	return allocation.Reason{Kind: allocation.KindNodeAffinity, Reason: "NodeAffinity", Message: message, Field: field}
}

// place is a node as selectors see it.
type place struct{ podspec.Node }

// lacks finds the labels, in order of keys, that a selector wants and the node has not.
func (p place) lacks(selector map[string]string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if have, ok := p.Labels[key]; !ok || have != selector[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// says is what the node has for a label, for people.
func (p place) says(key string) string {
	if value, ok := p.Labels[key]; ok {
		return key + "=" + value
	}
	return "no such label"
}
