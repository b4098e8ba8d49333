package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// minGracePeriod is the least time between the stop signal and SIGKILL. Only a
// container that runs although the runtime reported it as stopped gets less (KC-13).
const minGracePeriod = 2 * time.Second

// defaultOrphanGracePeriod is the grace period of a container whose pod is unknown and whose
// annotations have no grace period (SP-21).
const defaultOrphanGracePeriod = time.Second

// containerGracePeriod returns the time in which the preStop hook and the stop of a container must be over. It
// is the first value that is set: the override, the deletion grace period, the grace period of the failed
// probe, the grace period of the spec. Without any of them it is minGracePeriod (KC-10, KC-11).
func containerGracePeriod(pod *v1.Pod, probeGrace, override *int64) time.Duration {
	switch {
	case override != nil:
		return podspec.SecondsToDuration(*override)
	case pod.DeletionGracePeriodSeconds != nil:
		return podspec.SecondsToDuration(*pod.DeletionGracePeriodSeconds)
	case probeGrace != nil:
		return podspec.SecondsToDuration(*probeGrace)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return podspec.SecondsToDuration(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return minGracePeriod
}
