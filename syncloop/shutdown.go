package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
)

// ReasonTerminated is the reason of a pod that Failed because its node shuts down.
const ReasonTerminated = "Terminated"

const messageTerminated = "Pod was terminated in response to imminent node shutdown."

// NodeShutdown returns a status func for a pod that terminates because its node shuts down. It sets the
// kubelet's reason, message and condition. A pod that has succeeded or failed before keeps its status.
func NodeShutdown() podworkers.PodStatusFunc {
	return podworkers.Fail(ReasonTerminated, messageTerminated, v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: messageTerminated,
	})
}
