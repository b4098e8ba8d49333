package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

// ReasonTerminated is why a pod has Failed that was ended because its node shuts down.
const ReasonTerminated = "Terminated"

const messageTerminated = "Pod was terminated in response to imminent node shutdown."

// NodeShutdown says in a pod's status that it ended because its node shuts down, as the
// kubelet does. A pod that has succeeded, or has Failed before, keeps what it has.
func NodeShutdown() podworkers.PodStatusFunc {
	return podworkers.Fail(ReasonTerminated, messageTerminated, v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: messageTerminated,
	})
}
