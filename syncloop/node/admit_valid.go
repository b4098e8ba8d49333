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

// admitValid returns a handler that rejects pods of sources without validation if no node can run them:
// names that lead out of a directory, rules without a meaning, negative numbers. It cannot distinguish
// a new pod from a pod of an earlier process, so it does not reject a pod for rules that only an API
// server enforces.
//
// applied says that pods of the source "api" come from Apply, which has validated them.
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

// withDefaults returns a copy of a pod with the defaults of an API server.
func withDefaults(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return pod
}
