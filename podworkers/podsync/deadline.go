package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// minimumGrace is what every container gets between the signal and the kill,
// unless it has already outlived one that the runtime reported (KC-13).
const minimumGrace = 2 * time.Second

// orphanGrace is what an orphan gets whose records do not say more (SP-21).
const orphanGrace = time.Second

// grace is how long a container may take to end, all in all: what the deletion
// says, else the probe whose failure is the reason, else the spec; an override
// replaces it (KC-10, KC-11).
func grace(pod *v1.Pod, probe, override *int64) time.Duration {
	switch {
	case override != nil:
		return podspec.Seconds(*override)
	case pod.DeletionGracePeriodSeconds != nil:
		return podspec.Seconds(*pod.DeletionGracePeriodSeconds)
	case probe != nil:
		return podspec.Seconds(*probe)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return podspec.Seconds(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return minimumGrace
}
