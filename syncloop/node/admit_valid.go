package node

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
)

// reasonInvalid is why a pod was refused that makes no sense.
const reasonInvalid = "FailedValidation"

// admitValid refuses what no node can run, in pods of sources that do not validate: names that
// lead out of a directory, rules that mean nothing, numbers below zero. It cannot tell a new pod
// from one of an earlier process, so it does not ask for what only an API server rejects.
//
// applied: the pods of the source "api" come from Apply, which has validated them.
func admitValid(applied bool) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		if from, err := podmanager.PodSource(attrs.Pod); err == nil && from == hostSource && applied {
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

// withDefaults is a copy of a pod with what it leaves out.
func withDefaults(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return pod
}
