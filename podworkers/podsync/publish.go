package podsync

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// publish says how the pod is, as far as the runtime has shown it, and returns
// what it said. terminal: nothing of the pod runs, or will.
func (s *Syncer) publish(ctx context.Context, v *syncPass, terminal bool, statusFunc podworkers.PodStatusFunc) v1.PodStatus {
	in := plan.StatusInput{
		Pod: s.podWithPublishedStatus(v), Runtime: s.listen(ctx, v), Incarnation: v.incarnation.number, Old: s.published(v), Terminal: terminal,
		Ending: v.ending, Memory: v.incarnation.decided, Static: podmanager.IsStaticPod(v.pod), Starting: v.starting, HostIPs: s.hostIPs(), RuntimeName: s.cfg.RuntimeName,
	}
	status := plan.Containers(in)
	s.cfg.Probes.UpdatePodStatus(v.pod, &status) // PH-13
	s.unstarted(v, &status, func(c *v1.ContainerStatus) { c.Started, c.Ready = new(false), false })
	plan.Conclude(in, &status)
	v.dropReasons(&status)
	s.statusFunc(&status, statusFunc)
	if !s.store(v, status) {
		return status
	}
	v.incarnation.kept.published = true
	s.forgetTold(v)
	if !terminal {
		s.noteTerminalStatus(v, plan.IsTerminal(status.Phase))
		if !v.ending && !plan.IsTerminal(status.Phase) {
			s.remember(v)
		}
		s.observed(v)
	}
	return status
}

// statusFunc has a status changed, if somebody wants that. After a panic it is as it was: the
// pod ends all the same.
func (s *Syncer) statusFunc(status *v1.PodStatus, statusFunc podworkers.PodStatusFunc) {
	if statusFunc == nil {
		return
	}
	changed := status.DeepCopy()
	if s.guard.Do("PodStatusFunc", func() { statusFunc(changed) }) == nil {
		*status = *changed
	}
}

// observed tells the prober what has been stored of the pod (PR-4).
func (s *Syncer) observed(v *syncPass) {
	if !request.HasProbes(v.pod) {
		return
	}
	if len(v.incarnation.starts.postStartPending) == 0 {
		s.read(v, func(stored *v1.PodStatus) { s.cfg.Probes.ObserveStatus(v.pod.UID, stored) })
		return
	}
	if stored, ok := s.stored(v); ok {
		s.unstarted(v, &stored, func(c *v1.ContainerStatus) { c.ContainerID = "" }) // It is not probed yet.
		s.cfg.Probes.ObserveStatus(v.pod.UID, &stored)
	}
}

// dropReasons forgets why a container waited that runs by now, though its start
// seemed to have failed: how it ends later is another matter.
func (v *syncPass) dropReasons(status *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil {
				v.incarnation.decided = v.incarnation.decided.Waiting(statuses[i].Name, plan.Reason{})
			}
		}
	}
}

// isNews reports whether a container waits for another reason than it did when
// its start failed last: people are told of what lasts once.
func (v *syncPass) isNews(container string, err error) bool {
	reason, ok := waiting(err)
	return !ok || v.incarnation.decided.Reason(container) != reason
}

// explain notes why a container could not be started, or that it could.
func (v *syncPass) explain(container string, err error) {
	if err == nil {
		v.incarnation.decided = v.incarnation.decided.Waiting(container, plan.Reason{})
		return
	}
	reason, ok := waiting(err)
	if !ok || v.incarnation.decided.Reason(container) == reason {
		return
	}
	v.incarnation.decided = v.incarnation.decided.Waiting(container, reason)
	v.explained = true
}
