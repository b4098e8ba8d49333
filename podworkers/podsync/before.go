package podsync

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// statusesFromEarlierProcess returns the status that an earlier process published of each container
// that still runs. There are two sources: the status that came with the pod, which an API server
// stores, and Config.ContainerStates. A container is started if either source shows it as started. Its
// readiness comes from the newer source. The prober and the next status both begin with these statuses.
func (w *statusWriter) statusesFromEarlierProcess() (before []v1.ContainerStatus) {
	if w.incarnation.previousIncarnations > 0 || w.incarnation.stage == storedStatusMayBeFormer {
		return nil // The status belongs to another pod with this UID.
	}
	var kept []ContainerState
	if m := w.incarnation.persisted.containers; m != nil {
		kept = m.fromEarlierProcess
	}
	for i := range w.status.Containers {
		rec := &w.status.Containers[i]
		if rec.State != runtime.StateRunning || rec.Incarnation != w.incarnation.number {
			continue
		}
		c := v1.ContainerStatus{Name: rec.Name, ContainerID: w.cfg.RuntimeName + "://" + rec.ID, State: plan.RunningState(rec)}
		sent := publishedRunningStatus(&w.pod.Status, &c)
		state := savedContainerState(kept, rec)
		switch {
		case sent == nil && state == nil:
			continue
		case sent == nil:
			state.readiness().WriteTo(&c)
		case state == nil:
			podstatus.ReadinessOf(sent).WriteTo(&c)
		case state.SavedAt.After(readinessTransitionTime(&w.pod.Status)):
			podstatus.MergePublished(podstatus.ReadinessOf(sent), state.readiness()).WriteTo(&c)
		default:
			podstatus.MergePublished(state.readiness(), podstatus.ReadinessOf(sent)).WriteTo(&c)
		}
		before = append(before, c)
	}
	return before
}

// readiness returns the readiness that a ContainerState stores.
func (s *ContainerState) readiness() podstatus.Readiness {
	return podstatus.Readiness{Started: s.Started, Ready: s.Ready}
}

// publishedRunningStatus returns the status of a running container from a pod status. It returns nil if
// the pod status has another container of that name, or does not show the container as running.
func publishedRunningStatus(status *v1.PodStatus, running *v1.ContainerStatus) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.Name == running.Name && c.ContainerID == running.ContainerID && c.State.Running != nil && c.State.Running.StartedAt.Equal(&running.State.Running.StartedAt) {
				return c
			}
		}
	}
	return nil
}

// savedContainerState returns the saved state of the container of a record, or nil if no state was
// saved for it.
func savedContainerState(states []ContainerState, record *runtime.ContainerStatus) *ContainerState {
	i := slices.IndexFunc(states, func(b ContainerState) bool {
		return b.Name == record.Name && b.ID == record.ID && b.StartedAt.Equal(record.StartedAt)
	})
	if i < 0 {
		return nil
	}
	return &states[i]
}

// readinessTransitionTime returns the last transition time of the condition ContainersReady.
func readinessTransitionTime(status *v1.PodStatus) (at time.Time) {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == v1.ContainersReady {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// podWithLastStatus returns the pod with its last published status. If this process has published no
// status yet, the pod has the status that it came with, changed by statusesFromEarlierProcess.
func (w *statusWriter) podWithLastStatus() *v1.Pod {
	if w.incarnation.persisted.statusPublished || len(w.pod.Status.ContainerStatuses)+len(w.pod.Status.InitContainerStatuses) == 0 {
		return w.pod
	}
	pod := *w.pod // The other fields are shared and not changed.
	pod.Status = *w.pod.Status.DeepCopy()
	for _, before := range w.statusesFromEarlierProcess() {
		if c := publishedRunningStatus(&pod.Status, &before); c != nil {
			podstatus.ReadinessOf(&before).WriteTo(c)
		}
	}
	return &pod
}
