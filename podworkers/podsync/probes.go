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
func (p *podSync) addProbes() {
	if !request.HasProbes(p.pod) {
		return
	}
	if !p.incarnation.kept.probed {
		p.incarnation.kept.probed = true
		known := false
		p.readPublishedStatus(func(old *v1.PodStatus) {
			known = len(old.ContainerStatuses) > 0
			p.cfg.Probes.ObserveStatus(p.pod.UID, old)
		})
		if before := p.publishedBefore(); !known && len(before) > 0 {
			p.cfg.Probes.ObserveStatus(p.pod.UID, &v1.PodStatus{ContainerStatuses: before})
		}
	}
	p.cfg.Probes.AddPod(request.ExpandProbes(p.pod))
}

// probeVerdicts returns the verdicts of probes, by the ID of a container that runs.
func (p *podSync) probeVerdicts() map[string]plan.Probed {
	if !request.HasProbes(p.pod) {
		return nil
	}
	verdicts := make(map[string]plan.Probed, len(p.status.Containers))
	for i := range p.status.Containers {
		c := &p.status.Containers[i]
		if c.State != runtime.StateRunning || c.Incarnation != p.incarnation.number {
			continue
		}
		id := p.cfg.RuntimeName + "://" + c.ID
		var verdict plan.Probed
		liveness, startup := p.cfg.Probes.Failed(p.pod.UID, id)
		if liveness {
			verdict.Liveness = plan.Failure
		}
		switch {
		case startup:
			verdict.Startup = plan.Failure
		case p.cfg.Probes.Started(p.pod.UID, id):
			verdict.Startup = plan.Success
		}
		verdicts[c.ID] = verdict
	}
	return verdicts
}
