package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// addPodToProber adds the pod to the prober if the pod has probes. In the first sync of a pod it first passes
// the published status to the prober. If none is stored, it passes the values of an earlier process. A
// container that was ready before a restart of the agent therefore stays ready (PR-5).
func (p *podSync) addPodToProber() {
	if !request.HasProbes(p.pod) {
		return
	}
	if !p.incarnation.persisted.proberHasStatus {
		p.incarnation.persisted.proberHasStatus = true
		known := false
		p.readPublishedStatus(func(old *v1.PodStatus) {
			known = len(old.ContainerStatuses) > 0
			p.cfg.Probes.ObserveStatus(p.pod.UID, old)
		})
		if before := p.statusesFromEarlierProcess(); !known && len(before) > 0 {
			p.cfg.Probes.ObserveStatus(p.pod.UID, &v1.PodStatus{ContainerStatuses: before})
		}
	}
	p.cfg.Probes.AddPod(request.ExpandProbes(p.pod))
}

// probeResultsByContainerID returns the results of the liveness and startup probes of the pod's running
// containers, by runtime ID. It returns nil if the pod has no probes.
func (p *podSync) probeResultsByContainerID() map[string]plan.Probed {
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
