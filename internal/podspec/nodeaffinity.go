package podspec

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Node is what the node affinity of pods and volumes can select a node by.
type Node struct {
	Name   string
	Labels labels.Set
}

// Matches reports whether one of the terms selects the node. One that cannot be
// understood selects none; it is an error only if no other term does, so that a
// pod is not refused for what does not matter.
func (n Node) Matches(terms []v1.NodeSelectorTerm) (bool, error) {
	var errs []error
	for i := range terms {
		ok, err := n.matches(&terms[i])
		if ok {
			return true, nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("term %d: %w", i, err))
		}
	}
	return false, errors.Join(errs...)
}

// matches: every expression of the term holds. A term without any selects no node.
func (n Node) matches(term *v1.NodeSelectorTerm) (bool, error) {
	ok := len(term.MatchExpressions)+len(term.MatchFields) > 0
	var errs []error
	for i := range term.MatchExpressions {
		holds, err := n.hasLabel(&term.MatchExpressions[i])
		ok = ok && holds
		errs = append(errs, err)
	}
	for i := range term.MatchFields {
		holds, err := n.hasField(&term.MatchFields[i])
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

func (n Node) hasLabel(e *v1.NodeSelectorRequirement) (bool, error) {
	operator, ok := operators[e.Operator]
	if !ok {
		return false, fmt.Errorf("the operator %q is not known", e.Operator)
	}
	requirement, err := labels.NewRequirement(e.Key, operator, e.Values)
	if err != nil {
		return false, fmt.Errorf("key %q: %w", e.Key, err)
	}
	return requirement.Matches(n.Labels), nil
}

// hasField: the name is the only field by which nodes are told apart.
func (n Node) hasField(e *v1.NodeSelectorRequirement) (bool, error) {
	switch {
	case e.Key != "metadata.name":
		return false, fmt.Errorf("the field %q is not known", e.Key)
	case len(e.Values) != 1:
		return false, fmt.Errorf("the field %q has %d values, and takes one", e.Key, len(e.Values))
	case e.Operator == v1.NodeSelectorOpIn:
		return e.Values[0] == n.Name, nil
	case e.Operator == v1.NodeSelectorOpNotIn:
		return e.Values[0] != n.Name, nil
	}
	return false, fmt.Errorf("the operator %q is not known of fields", e.Operator)
}
