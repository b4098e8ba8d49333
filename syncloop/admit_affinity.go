package syncloop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// AdmitNodeAffinity refuses a pod whose node selector, or whose required node
// affinity, does not mean a node of this name with these labels. What is
// only required at scheduling is required here too: this is where the pod was
// placed.
func AdmitNodeAffinity(name string, nodeLabels map[string]string) PodAdmitHandler {
	node := place{name: name, labels: maps.Clone(nodeLabels)}
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		spec := &attrs.Pod.Spec
		if key, wrong := node.lacks(spec.NodeSelector); wrong {
			return elsewhere(fmt.Sprintf("spec.nodeSelector wants %s=%s, and the node has %s", key, spec.NodeSelector[key], node.says(key)))
		}
		if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			return admitted
		}
		ok, err := node.meant(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
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
type place struct {
	name   string
	labels labels.Set
}

// lacks finds the first label, in order of keys, that a selector wants and the
// node has not.
func (p place) lacks(selector map[string]string) (key string, wrong bool) {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if have, ok := p.labels[key]; !ok || have != selector[key] {
			return key, true
		}
	}
	return "", false
}

// says is what the node has for a label, for people.
func (p place) says(key string) string {
	if value, ok := p.labels[key]; ok {
		return key + "=" + value
	}
	return "no such label"
}

// meant reports whether one of the terms means the node. One that cannot be
// understood means none; it is an error only if no other term does, so that a
// pod is not refused for what does not matter.
func (p place) meant(terms []v1.NodeSelectorTerm) (bool, error) {
	var errs []error
	for i := range terms {
		ok, err := p.means(&terms[i])
		if ok {
			return true, nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("term %d: %w", i, err))
		}
	}
	return false, errors.Join(errs...)
}

// means: every expression of the term holds. A term without any means no node.
func (p place) means(term *v1.NodeSelectorTerm) (bool, error) {
	ok := len(term.MatchExpressions)+len(term.MatchFields) > 0
	var errs []error
	for i := range term.MatchExpressions {
		holds, err := p.hasLabel(&term.MatchExpressions[i])
		ok = ok && holds
		errs = append(errs, err)
	}
	for i := range term.MatchFields {
		holds, err := p.hasField(&term.MatchFields[i])
		ok = ok && holds
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	return ok && err == nil, err
}

// operators are the API's words for those of labels.
var operators = map[v1.NodeSelectorOperator]selection.Operator{
	v1.NodeSelectorOpIn:           selection.In,
	v1.NodeSelectorOpNotIn:        selection.NotIn,
	v1.NodeSelectorOpExists:       selection.Exists,
	v1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	v1.NodeSelectorOpGt:           selection.GreaterThan,
	v1.NodeSelectorOpLt:           selection.LessThan,
}

func (p place) hasLabel(e *v1.NodeSelectorRequirement) (bool, error) {
	operator, ok := operators[e.Operator]
	if !ok {
		return false, fmt.Errorf("the operator %q is not known", e.Operator)
	}
	requirement, err := labels.NewRequirement(e.Key, operator, e.Values)
	if err != nil {
		return false, fmt.Errorf("key %q: %w", e.Key, err)
	}
	return requirement.Matches(p.labels), nil
}

// hasField: the name is the only field by which nodes are told apart.
func (p place) hasField(e *v1.NodeSelectorRequirement) (bool, error) {
	switch {
	case e.Key != "metadata.name":
		return false, fmt.Errorf("the field %q is not known", e.Key)
	case len(e.Values) != 1:
		return false, fmt.Errorf("the field %q has %d values, and takes one", e.Key, len(e.Values))
	case e.Operator == v1.NodeSelectorOpIn:
		return e.Values[0] == p.name, nil
	case e.Operator == v1.NodeSelectorOpNotIn:
		return e.Values[0] != p.name, nil
	}
	return false, fmt.Errorf("the operator %q is not known of fields", e.Operator)
}
