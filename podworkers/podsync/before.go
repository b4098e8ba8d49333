package podsync

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// publishedBefore returns the status that an earlier process published of each container that still
// runs. It has two sources: the status that came with the pod, which an API server has kept, and
// Config.ContainerStates. A container is started if either source shows it as started. Its readiness
// comes from the newer source. The prober and the next status both start from this.
func (w *statusWriter) publishedBefore() (before []v1.ContainerStatus) {
	if w.incarnation.former > 0 || w.incarnation.stage == statusIsFormer {
		return nil // That was another pod of the UID.
	}
	var kept []ContainerState
	if m := w.incarnation.kept.containers; m != nil {
		kept = m.before
	}
	for i := range w.status.Containers {
		rec := &w.status.Containers[i]
		if rec.State != runtime.StateRunning || rec.Incarnation != w.incarnation.number {
			continue
		}
		c := v1.ContainerStatus{Name: rec.Name, ContainerID: w.cfg.RuntimeName + "://" + rec.ID, State: plan.RunningState(rec)}
		sent := sentStatus(&w.pod.Status, &c)
		state := keptState(kept, rec)
		switch {
		case sent == nil && state == nil:
			continue
		case sent == nil:
			state.readiness().WriteTo(&c)
		case state == nil:
			podstatus.ReadinessOf(sent).WriteTo(&c)
		case state.SavedAt.After(readinessChangedAt(&w.pod.Status)):
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

// sentStatus returns the status of a container that runs. It returns nil if the pod's status has
// another container of the name, or does not show it as running.
func sentStatus(status *v1.PodStatus, running *v1.ContainerStatus) *v1.ContainerStatus {
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

// keptState returns the state that was kept of a container, nil if there is none.
func keptState(kept []ContainerState, rec *runtime.ContainerStatus) *ContainerState {
	i := slices.IndexFunc(kept, func(b ContainerState) bool {
		return b.Name == rec.Name && b.ID == rec.ID && b.StartedAt.Equal(rec.StartedAt)
	})
	if i < 0 {
		return nil
	}
	return &kept[i]
}

// readinessChangedAt returns the time of the last change of readiness in a status.
func readinessChangedAt(status *v1.PodStatus) (at time.Time) {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == v1.ContainersReady {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// podWithPublishedStatus returns the pod with its last published status. If this process has published
// none, that is the status that came with the pod, with the changes of publishedBefore.
func (w *statusWriter) podWithPublishedStatus() *v1.Pod {
	if w.incarnation.kept.published || len(w.pod.Status.ContainerStatuses)+len(w.pod.Status.InitContainerStatuses) == 0 {
		return w.pod
	}
	pod := *w.pod // The other fields are shared, and only read.
	pod.Status = *w.pod.Status.DeepCopy()
	for _, before := range w.publishedBefore() {
		if c := sentStatus(&pod.Status, &before); c != nil {
			podstatus.ReadinessOf(&before).WriteTo(c)
		}
	}
	return &pod
}
