package podspec

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Node holds what a node affinity can select a node by: its name and its labels.
type Node struct {
	Name   string
	Labels labels.Set
}

// Matches reports whether one of the terms selects the node. A term that cannot be parsed selects no node. Its error is
// returned only if no other term selects the node, because then the faulty term does not matter.
func (n Node) Matches(terms []v1.NodeSelectorTerm) (bool, error) {
	var errs []error
	for i := range terms {
		ok, err := n.matchesTerm(&terms[i])
		if ok {
			return true, nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("term %d: %w", i, err))
		}
	}
	return false, errors.Join(errs...)
}

// matchesTerm reports whether the node matches every expression and every field of the term. An empty term
// matches no node. It returns false and an error if an expression is faulty.
func (n Node) matchesTerm(term *v1.NodeSelectorTerm) (bool, error) {
	ok := len(term.MatchExpressions)+len(term.MatchFields) > 0
	var errs []error
	for i := range term.MatchExpressions {
		holds, err := n.matchesExpression(&term.MatchExpressions[i])
		ok = ok && holds
		errs = append(errs, err)
	}
	for i := range term.MatchFields {
		holds, err := n.matchesField(&term.MatchFields[i])
		ok = ok && holds
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	return ok && err == nil, err
}

// labelOperators maps the operators of a node selector to the operators of label selectors.
var labelOperators = map[v1.NodeSelectorOperator]selection.Operator{
	v1.NodeSelectorOpIn:           selection.In,
	v1.NodeSelectorOpNotIn:        selection.NotIn,
	v1.NodeSelectorOpExists:       selection.Exists,
	v1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	v1.NodeSelectorOpGt:           selection.GreaterThan,
	v1.NodeSelectorOpLt:           selection.LessThan,
}

// matchesExpression reports whether the labels of the node meet one requirement. It returns an error for an
// unknown operator and an invalid key or value.
func (n Node) matchesExpression(e *v1.NodeSelectorRequirement) (bool, error) {
	operator, ok := labelOperators[e.Operator]
	if !ok {
		return false, fmt.Errorf("the operator %q is not known", e.Operator)
	}
	requirement, err := labels.NewRequirement(e.Key, operator, e.Values)
	if err != nil {
		return false, fmt.Errorf("key %q: %w", e.Key, err)
	}
	return requirement.Matches(n.Labels), nil
}

// matchesField reports whether the node meets a requirement on its field metadata.name, with one value and the
// operator In or NotIn. It returns an error for any other requirement.
func (n Node) matchesField(e *v1.NodeSelectorRequirement) (bool, error) {
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
