package validation

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkPlacement checks the node selector, the tolerations, the scheduling gates and the node affinity of a
// pod. It does not check the affinity to other pods.
func (f *findings) checkPlacement(spec *v1.PodSpec, at *field.Path) {
	for _, key := range sortedKeys(spec.NodeSelector) {
		at := at.Child("nodeSelector").Key(key)
		f.checkFormat(at, key, qualifiedNameFormat)
		f.checkFormat(at, spec.NodeSelector[key], labelValueFormat)
	}
	for i := range spec.Tolerations {
		f.checkToleration(&spec.Tolerations[i], at.Child("tolerations").Index(i))
	}
	seen := map[string]int{}
	for i, gate := range spec.SchedulingGates {
		at := at.Child("schedulingGates").Index(i).Child("name")
		f.requireName(at, gate.Name, qualifiedNameFormat)
		f.checkUniqueOrStoreName(at, gate.Name, seen, i, "schedulingGates")
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		f.checkNodeAffinity(a.NodeAffinity, at.Child("affinity", "nodeAffinity"))
	}
}

// checkToleration checks the key, operator, value and effect of one toleration, and that tolerationSeconds is
// used with the effect NoExecute only.
func (f *findings) checkToleration(t *v1.Toleration, at *field.Path) {
	if t.Key != "" {
		f.checkFormat(at.Child("key"), t.Key, qualifiedNameFormat)
	} else if t.Operator != v1.TolerationOpExists {
		f.addInvalid(at.Child("operator"), string(t.Operator), "expected Exists without a key")
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		f.checkFormat(at.Child("value"), t.Value, labelValueFormat)
	case v1.TolerationOpExists:
		if t.Value != "" {
			f.addInvalid(at.Child("value"), t.Value, "expected none with operator Exists")
		}
	case v1.TolerationOpLt, v1.TolerationOpGt:
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			f.addInvalid(at.Child("value"), t.Value, "expected a whole number with operator %s", t.Operator)
		}
	default:
		checkOneOf(f, at.Child("operator"), t.Operator, v1.TolerationOpEqual, v1.TolerationOpExists, v1.TolerationOpLt, v1.TolerationOpGt)
	}
	checkOneOf(f, at.Child("effect"), t.Effect, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		f.addInvalid(at.Child("effect"), string(t.Effect), "expected NoExecute with tolerationSeconds")
	}
}

// checkNodeAffinity checks the terms of the required node affinity; there must be at least one. It does not
// check preferences, because only schedulers read them.
func (f *findings) checkNodeAffinity(a *v1.NodeAffinity, at *field.Path) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			f.addRequired(at, "expected at least one term")
		}
		for i := range required.NodeSelectorTerms {
			f.checkNodeSelectorTerm(&required.NodeSelectorTerms[i], at.Index(i))
		}
	}
}

// checkNodeSelectorTerm checks the label expressions of one node selector term, and its field expressions,
// which may only compare metadata.name with one value.
func (f *findings) checkNodeSelectorTerm(term *v1.NodeSelectorTerm, at *field.Path) {
	for i, r := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		f.requireName(at.Child("key"), r.Key, qualifiedNameFormat)
		f.checkNodeOperatorValues(r, at)
		for j, value := range r.Values {
			f.checkFormat(at.Child("values").Index(j), value, labelValueFormat)
		}
	}
	for i, r := range term.MatchFields {
		at := at.Child("matchFields").Index(i)
		checkOneOf(f, at.Child("key"), r.Key, "metadata.name")
		checkOneOf(f, at.Child("operator"), r.Operator, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn)
		if len(r.Values) != 1 {
			f.addWithoutValue(field.ErrorTypeRequired, at.Child("values"), "%d values: expected one", len(r.Values))
		}
		for j, value := range r.Values {
			f.checkFormat(at.Child("values").Index(j), value, dnsSubdomainFormat)
		}
	}
}

// checkNodeOperatorValues checks the operator of a node selector requirement, and that the number of its values
// fits the operator.
func (f *findings) checkNodeOperatorValues(r v1.NodeSelectorRequirement, at *field.Path) {
	at, operator := at.Child("values"), at.Child("operator")
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			f.addRequired(at, "expected at least one with operator %s", r.Operator)
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			f.addForbidden(at, "expected none with operator %s", r.Operator)
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			f.addWithoutValue(field.ErrorTypeRequired, at, "%d values: expected one number with operator %s", len(r.Values), r.Operator)
		}
	default:
		checkOneOf(f, operator, r.Operator, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
			v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)
	}
}
