package podsync

import (
	"time"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// minGracePeriod is the least time between the stop signal and SIGKILL. Only a
// container that runs although the runtime reported it as stopped gets less (KC-13).
const minGracePeriod = 2 * time.Second

// The grace periods of a container for which neither the pod nor the annotations of the container have one.
var (
	defaultGrace       = lifecycle.Seconds(2) // as minGracePeriod
	defaultOrphanGrace = lifecycle.Seconds(1) // the pod is not desired (SP-21)
)

// effectiveGrace returns the grace period within which the preStop hook and the stop of a container must be
// over (KC-10, KC-11). It completes grace with the deletion and spec grace periods of the pod or, for a pod
// that only the runtime has, of the container's annotations. If none is set, a default applies.
func (k *podKiller) effectiveGrace(grace lifecycle.ContainerGrace, info request.StopInfo) lifecycle.Grace {
	deletion, spec := k.pod.DeletionGracePeriodSeconds, k.pod.Spec.TerminationGracePeriodSeconds
	grace.Default = defaultGrace
	if k.runtimeOnly {
		deletion, spec, grace.Default = info.DeletionGraceSeconds, info.SpecGraceSeconds, defaultOrphanGrace
	}
	grace.Deletion, grace.Spec = lifecycle.GraceFromAPI(deletion), lifecycle.GraceFromAPI(spec)
	return grace.Effective()
}
