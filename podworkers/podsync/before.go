package podsync

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// statusesFromEarlierProcess returns the Started and Ready values that an earlier process of the agent stored
// for the running containers of the pod. They come from the status in the pod and from Config.ContainerStates:
// Started is true if either says so, and Ready comes from the newer one. It leaves out containers that neither
// has, and returns nil if the stored status may be of a former pod with this UID.
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
			state.startedAndReadyValues().WriteTo(&c)
		case state == nil:
			podstatus.ReadinessOf(sent).WriteTo(&c)
		case state.SavedAt.After(containersReadyTransitionTime(&w.pod.Status)):
			podstatus.MergePublished(podstatus.ReadinessOf(sent), state.startedAndReadyValues()).WriteTo(&c)
		default:
			podstatus.MergePublished(state.startedAndReadyValues(), podstatus.ReadinessOf(sent)).WriteTo(&c)
		}
		before = append(before, c)
	}
	return before
}

// startedAndReadyValues returns the Started and Ready values of a saved container state.
func (s *ContainerState) startedAndReadyValues() podstatus.Readiness {
	return podstatus.Readiness{Started: s.Started, Ready: s.Ready}
}

// publishedRunningStatus returns the entry of an init or regular container in status, if the entry is in the
// state running and has the name, container ID and start time of running. It returns nil if there is no such
// entry.
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

// savedContainerState returns the saved state with the name, ID and start time of a runtime container, or nil
// if there is none.
func savedContainerState(states []ContainerState, record *runtime.ContainerStatus) *ContainerState {
	i := slices.IndexFunc(states, func(b ContainerState) bool {
		return b.Name == record.Name && b.ID == record.ID && b.StartedAt.Equal(record.StartedAt)
	})
	if i < 0 {
		return nil
	}
	return &states[i]
}

// containersReadyTransitionTime returns the last transition time of the condition ContainersReady. It returns the
// zero time if the status has no such condition.
func containersReadyTransitionTime(status *v1.PodStatus) (at time.Time) {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == v1.ContainersReady {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// podWithReadinessFromEarlierProcess returns a copy of the pod, in which the running containers have the
// Started and Ready values that an earlier process stored. If this process has already published a status, or
// the pod has no container statuses, it returns the pod itself.
func (w *statusWriter) podWithReadinessFromEarlierProcess() *v1.Pod {
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
