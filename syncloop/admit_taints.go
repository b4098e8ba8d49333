package syncloop

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// AdmitTaints refuses a pod that does not tolerate a taint of the node with the
// effect NoExecute; static pods are let in all the same. The other
// effects are a scheduler's business, which has placed the pod here.
func AdmitTaints(taints []v1.Taint) PodAdmitHandler {
	taints = slices.Clone(taints)
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		if podmanager.IsStaticPod(attrs.Pod) {
			return admitted
		}
		return Refused(UntoleratedTaints(attrs.Pod, taints, v1.TaintEffectNoExecute)...)
	})
}

// UntoleratedTaints are the reasons because of which the taints with this effect keep a pod
// from a node: one for each that it does not tolerate, in their order.
func UntoleratedTaints(pod *v1.Pod, taints []v1.Taint, effect v1.TaintEffect) (reasons []Reason) {
	for i := range taints {
		t := &taints[i]
		if t.Effect != effect || tolerated(pod, t) {
			continue
		}
		reasons = append(reasons, Reason{
			Kind: KindTaint, Reason: "TaintToleration", Taint: *t,
			Message: fmt.Sprintf("the pod does not tolerate the node's taint %s", t.ToString()),
		})
	}
	return reasons
}

func tolerated(pod *v1.Pod, taint *v1.Taint) bool {
	for i := range pod.Spec.Tolerations {
		if tolerates(&pod.Spec.Tolerations[i], taint) {
			return true
		}
	}
	return false
}

// tolerates: no effect means every effect, and no key every key, which only
// Exists may say. What an operator does not understand it does not tolerate.
func tolerates(t *v1.Toleration, taint *v1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	if t.Operator == v1.TolerationOpExists {
		return true
	}
	if t.Key == "" {
		return false
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		return t.Value == taint.Value
	case v1.TolerationOpLt:
		order, ok := compareNumbers(taint.Value, t.Value)
		return ok && order < 0
	case v1.TolerationOpGt:
		order, ok := compareNumbers(taint.Value, t.Value)
		return ok && order > 0
	}
	return false
}

// compareNumbers compares two texts as whole numbers, if they are.
func compareNumbers(a, b string) (order int, ok bool) {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	return cmp.Compare(x, y), errX == nil && errY == nil
}
