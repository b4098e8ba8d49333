package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// addProbes adds a pod to the prober. On the first sync pass of an incarnation the prober first
// gets the published status of the pod, even if an earlier agent published it: a container that
// was started and ready before the agent was started again still is (PR-5).
func (s *Syncer) addProbes(v *syncPass) {
	if !request.HasProbes(v.pod) {
		return
	}
	if !v.incarnation.kept.probed {
		v.incarnation.kept.probed = true
		known := false
		s.read(v, func(old *v1.PodStatus) {
			known = len(old.ContainerStatuses) > 0
			s.cfg.Probes.ObserveStatus(v.pod.UID, old)
		})
		if before := s.publishedBefore(v); !known && len(before) > 0 {
			s.cfg.Probes.ObserveStatus(v.pod.UID, &v1.PodStatus{ContainerStatuses: before})
		}
	}
	s.cfg.Probes.AddPod(request.ExpandProbes(v.pod))
}

// probed are the verdicts on the containers of a pod that run.
func (s *Syncer) probed(v *syncPass) map[string]plan.Probed {
	if !request.HasProbes(v.pod) {
		return nil
	}
	verdicts := make(map[string]plan.Probed, len(v.status.Containers))
	for i := range v.status.Containers {
		c := &v.status.Containers[i]
		if c.State != runtime.StateRunning || c.Incarnation != v.incarnation.number {
			continue
		}
		id := s.cfg.RuntimeName + "://" + c.ID
		var p plan.Probed
		liveness, startup := s.cfg.Probes.Failed(v.pod.UID, id)
		if liveness {
			p.Liveness = plan.Failure
		}
		switch {
		case startup:
			p.Startup = plan.Failure
		case s.cfg.Probes.Started(v.pod.UID, id):
			p.Startup = plan.Success
		}
		verdicts[c.ID] = p
	}
	return verdicts
}
