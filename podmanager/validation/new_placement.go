package validation

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placement checks node selectors, node affinity and tolerations.
func (f *findings) placement(spec *v1.PodSpec, at *field.Path) {
	for _, key := range sortedKeys(spec.NodeSelector) {
		at := at.Child("nodeSelector").Key(key)
		f.keeps(at, key, qualifiedName)
		f.keeps(at, spec.NodeSelector[key], labelValue)
	}
	for i := range spec.Tolerations {
		f.toleration(&spec.Tolerations[i], at.Child("tolerations").Index(i))
	}
	seen := map[string]int{}
	for i, gate := range spec.SchedulingGates {
		at := at.Child("schedulingGates").Index(i).Child("name")
		f.named(at, gate.Name, qualifiedName)
		f.unique(at, gate.Name, seen, i, "schedulingGates")
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		f.nodeAffinity(a.NodeAffinity, at.Child("affinity", "nodeAffinity"))
	}
}

func (f *findings) toleration(t *v1.Toleration, at *field.Path) {
	if t.Key != "" {
		f.keeps(at.Child("key"), t.Key, qualifiedName)
	} else if t.Operator != v1.TolerationOpExists {
		f.invalid(at.Child("operator"), string(t.Operator), "expected Exists without a key")
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		f.keeps(at.Child("value"), t.Value, labelValue)
	case v1.TolerationOpExists:
		if t.Value != "" {
			f.invalid(at.Child("value"), t.Value, "expected none with operator Exists")
		}
	case v1.TolerationOpLt, v1.TolerationOpGt:
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			f.invalid(at.Child("value"), t.Value, "expected a whole number with operator %s", t.Operator)
		}
	default:
		oneOf(f, at.Child("operator"), t.Operator, v1.TolerationOpEqual, v1.TolerationOpExists, v1.TolerationOpLt, v1.TolerationOpGt)
	}
	oneOf(f, at.Child("effect"), t.Effect, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		f.invalid(at.Child("effect"), string(t.Effect), "expected NoExecute with tolerationSeconds")
	}
}

// nodeAffinity checks the required node affinity. Preferences are for schedulers.
func (f *findings) nodeAffinity(a *v1.NodeAffinity, at *field.Path) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			f.required(at, "expected at least one term")
		}
		for i := range required.NodeSelectorTerms {
			f.nodeTerm(&required.NodeSelectorTerms[i], at.Index(i))
		}
	}
}

func (f *findings) nodeTerm(term *v1.NodeSelectorTerm, at *field.Path) {
	for i, r := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		f.named(at.Child("key"), r.Key, qualifiedName)
		f.nodeOperator(r, at)
		for j, value := range r.Values {
			f.keeps(at.Child("values").Index(j), value, labelValue)
		}
	}
	for i, r := range term.MatchFields {
		at := at.Child("matchFields").Index(i)
		oneOf(f, at.Child("key"), r.Key, "metadata.name")
		oneOf(f, at.Child("operator"), r.Operator, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn)
		if len(r.Values) != 1 {
			f.whole(field.ErrorTypeRequired, at.Child("values"), "%d values: expected one", len(r.Values))
		}
		for j, value := range r.Values {
			f.keeps(at.Child("values").Index(j), value, dnsSubdomain)
		}
	}
}

// nodeOperator checks that an operator has as many values as it needs.
func (f *findings) nodeOperator(r v1.NodeSelectorRequirement, at *field.Path) {
	at, operator := at.Child("values"), at.Child("operator")
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			f.required(at, "expected at least one with operator %s", r.Operator)
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			f.forbidden(at, "expected none with operator %s", r.Operator)
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			f.whole(field.ErrorTypeRequired, at, "%d values: expected one number with operator %s", len(r.Values), r.Operator)
		}
	default:
		oneOf(f, operator, r.Operator, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
			v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)
	}
}
