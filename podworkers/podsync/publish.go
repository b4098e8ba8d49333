package podsync

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// publish computes the status of the pod from the observed one, stores it and returns it. terminal says
// that no container of the pod runs, or will run.
func (p *syncPass) publish(ctx context.Context, terminal bool, statusFunc podworkers.PodStatusFunc) v1.PodStatus {
	in := plan.StatusInput{
		Pod: p.podWithPublishedStatus(), Runtime: p.statusWithMessages(ctx), Incarnation: p.incarnation.number, Old: p.publishedStatus(), Terminal: terminal,
		Ending: p.ending, Memory: p.incarnation.memory, Static: podmanager.IsStaticPod(p.pod), Starting: p.starting, Addresses: true, HostIPs: p.hostIPs(), RuntimeName: p.cfg.RuntimeName,
	}
	status := plan.Containers(in)
	p.cfg.Probes.UpdatePodStatus(p.pod, &status) // PH-13
	status = plan.Conclude(in, status)
	p.clearWaitingReasons(&status)
	p.applyStatusFunc(&status, statusFunc)
	if !p.storeStatus(status) {
		return status
	}
	p.incarnation.kept.published = true
	if p.incarnation.memory.HasUnpublished() {
		p.readPublishedStatus(func(stored *v1.PodStatus) { p.incarnation.memory = p.incarnation.memory.Published(stored) })
	}
	if !terminal {
		p.noteTerminalStatus(plan.IsTerminal(status.Phase))
		if !p.ending && !plan.IsTerminal(status.Phase) {
			p.saveContainerStates()
		}
		p.reportToProber()
	}
	return status
}

// applyStatusFunc changes a status by the caller's function, if there is one. After a panic the status is
// unchanged, and the pod terminates all the same.
func (p *syncPass) applyStatusFunc(status *v1.PodStatus, statusFunc podworkers.PodStatusFunc) {
	if statusFunc == nil {
		return
	}
	changed := status.DeepCopy()
	if p.guard.Do("PodStatusFunc", func() { statusFunc(changed) }) == nil {
		*status = *changed
	}
}

// reportToProber gives the stored status of the pod to the prober (PR-4).
func (p *syncPass) reportToProber() {
	if !request.HasProbes(p.pod) {
		return
	}
	p.readPublishedStatus(func(stored *v1.PodStatus) { p.cfg.Probes.ObserveStatus(p.pod.UID, p.hidePostStartPending(stored)) })
}

// clearWaitingReasons drops the waiting reason of each container that runs although its start seemed to
// have failed.
func (p *syncPass) clearWaitingReasons(status *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil {
				p.incarnation.memory = p.incarnation.memory.Waiting(statuses[i].Name, plan.Reason{})
			}
		}
	}
}

// isNewReason reports whether the waiting reason of an error differs from the reason of the last failed
// start. An event is recorded only then.
func (p *syncPass) isNewReason(container string, err error) bool {
	reason, ok := waiting(err)
	return !ok || p.incarnation.memory.Reason(container) != reason
}

// noteWaitingReason notes the waiting reason of a container. A nil error clears it.
func (p *syncPass) noteWaitingReason(container string, err error) {
	if err == nil {
		p.incarnation.memory = p.incarnation.memory.Waiting(container, plan.Reason{})
		return
	}
	reason, ok := waiting(err)
	if !ok || p.incarnation.memory.Reason(container) == reason {
		return
	}
	p.incarnation.memory = p.incarnation.memory.Waiting(container, reason)
	p.reasonsChanged = true
}
