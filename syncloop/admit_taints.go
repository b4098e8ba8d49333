package syncloop

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// AdmitTaints returns a handler that refuses a pod that does not tolerate a NoExecute taint of the node. It
// admits static pods without this check. The scheduler checks the other effects when it places the pod.
func AdmitTaints(taints []v1.Taint) PodAdmitHandler {
	taints = slices.Clone(taints)
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		if podmanager.IsStaticPod(attrs.Pod) {
			return admitted
		}
		return Refused(UntoleratedTaints(attrs.Pod, taints, v1.TaintEffectNoExecute)...)
	})
}

// UntoleratedTaints returns one reason for each taint with the given effect that the pod does not tolerate, in
// the order of the taints.
func UntoleratedTaints(pod *v1.Pod, taints []v1.Taint, effect v1.TaintEffect) (reasons []allocation.Reason) {
	for i := range taints {
		t := &taints[i]
		if t.Effect != effect || isTolerated(pod, t) {
			continue
		}
		reasons = append(reasons, allocation.Reason{
			Kind: allocation.KindTaint, Reason: "TaintToleration", Taint: *t,
			Message: fmt.Sprintf("the pod does not tolerate the node's taint %s", t.ToString()),
		})
	}
	return reasons
}

// isTolerated reports whether a toleration of the pod tolerates the taint. It ignores a toleration with neither
// a key nor the operator Exists.
func isTolerated(pod *v1.Pod, taint *v1.Taint) bool {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if (t.Key != "" || t.Operator == v1.TolerationOpExists) && t.ToleratesTaint(klog.Logger{}, taint, true) {
			return true
		}
	}
	return false
}
