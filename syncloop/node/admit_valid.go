package node

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
)

// reasonInvalid is the reason of a pod that fails validation.
const reasonInvalid = "FailedValidation"

// admitValidPods returns a handler that rejects a pod which no node can run, for example because a number is
// negative. It does not apply the rules that only an API server enforces, because the pod may run since an
// earlier process. If acceptAppliedPods is true, it admits every pod of the source "api", because Apply has
// validated that pod.
func admitValidPods(acceptAppliedPods bool) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		if from, err := podmanager.PodSource(attrs.Pod); err == nil && from == hostSource && acceptAppliedPods {
			return syncloop.PodAdmitResult{Admit: true}
		}
		faults := validation.ValidateAccepted(withDefaults(attrs.Pod))
		if len(faults) == 0 {
			return syncloop.PodAdmitResult{Admit: true}
		}
		all := strings.ReplaceAll(invalidPod(faults).Error(), "\n", "; ")
		return syncloop.PodAdmitResult{Reason: reasonInvalid, Message: "the pod cannot be run as it is: " + all, Reasons: invalidReasons(faults)}
	})
}

// withDefaults returns a copy of a pod with the defaults that an API server sets.
func withDefaults(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return pod
}
