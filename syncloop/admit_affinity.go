package syncloop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/podspec"
)

// AdmitNodeAffinity refuses a pod whose node selector, or whose required node
// affinity, does not mean a node of this name with these labels. What is
// only required at scheduling is required here too: this is where the pod was
// placed.
func AdmitNodeAffinity(name string, nodeLabels map[string]string) PodAdmitHandler {
	node := place{podspec.Node{Name: name, Labels: maps.Clone(nodeLabels)}}
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		spec := &attrs.Pod.Spec
		if key, wrong := node.lacks(spec.NodeSelector); wrong {
			return elsewhere(fmt.Sprintf("spec.nodeSelector wants %s=%s, and the node has %s", key, spec.NodeSelector[key], node.says(key)))
		}
		if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			return admitted
		}
		ok, err := node.Matches(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		switch {
		case ok:
			return admitted
		case err != nil:
			return elsewhere("the required node affinity cannot be understood: " + strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		return elsewhere("no term of the required node affinity means this node")
	})
}

func elsewhere(message string) PodAdmitResult {
	return PodAdmitResult{Reason: "NodeAffinity", Message: message}
}

// place is a node as selectors see it.
type place struct{ podspec.Node }

// lacks finds the first label, in order of keys, that a selector wants and the
// node has not.
func (p place) lacks(selector map[string]string) (key string, wrong bool) {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if have, ok := p.Labels[key]; !ok || have != selector[key] {
			return key, true
		}
	}
	return "", false
}

// says is what the node has for a label, for people.
func (p place) says(key string) string {
	if value, ok := p.Labels[key]; ok {
		return key + "=" + value
	}
	return "no such label"
}
