package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// minimumGrace is the least time that a container gets between the signal and the kill, unless it runs
// although the runtime reported that it has stopped (KC-13).
const minimumGrace = 2 * time.Second

// orphanGrace is the grace period of an orphan's container that has none in its annotations (SP-21).
const orphanGrace = time.Second

// grace returns the grace period of a container, preStop hook included: the override, else the one of
// the deletion, else the one of the probe that has failed, else the one of the spec (KC-10, KC-11).
func grace(pod *v1.Pod, probe, override *int64) time.Duration {
	switch {
	case override != nil:
		return podspec.SecondsToDuration(*override)
	case pod.DeletionGracePeriodSeconds != nil:
		return podspec.SecondsToDuration(*pod.DeletionGracePeriodSeconds)
	case probe != nil:
		return podspec.SecondsToDuration(*probe)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return podspec.SecondsToDuration(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return minimumGrace
}
