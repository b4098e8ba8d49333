package podworkers

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// buildTableUpdate fills in the table's update from the caller's options. For a pod that may be
// unknown to the table it reads the status cache: a pod in a terminal phase may have nothing to
// stop, and a created pod may already run. It does not wait for a newer status (B-005).
func (w *Workers) buildTableUpdate(o *UpdatePodOptions, update *lifecycle.Update) error {
	update.Type, update.Observation = o.UpdateType, o.Observation
	switch {
	case o.Pod != nil: // Pod has precedence (B-002).
		update.UID, update.Subject = o.Pod.UID, lifecycle.ConfigPod
		setPodFacts(o.Pod, &update.Facts)
		if update.Facts.TerminalPhase || o.UpdateType == SyncPodCreate {
			status, err := w.config.Cache.Get(o.Pod.UID)
			switch {
			case status.MayRun():
				update.Runtime = lifecycle.RuntimeRunning
			case err == nil:
				update.Runtime = lifecycle.RuntimeStopped
			}
		}
	case o.RunningPod != nil:
		update.UID, update.Subject = o.RunningPod.UID, lifecycle.RuntimePod
		update.AsOf = o.Generation
	default:
		return fmt.Errorf("podworkers: %w: it has neither Pod nor RunningPod", ErrInvalid)
	}
	if o.KillPodOptions != nil {
		update.Kill = killOptions(o.KillPodOptions)
	}
	return nil
}

// setPodFacts fills in the facts that the table needs from a pod.
func setPodFacts(pod *v1.Pod, f *lifecycle.Facts) {
	source, sourced := pod.Annotations[podmanager.ConfigSourceAnnotation]
	f.Source = source
	f.Deleted = pod.DeletionTimestamp != nil
	f.TerminalPhase = podstatus.IsTerminal(pod.Status.Phase)
	f.SpecGrace = graceFromSeconds(pod.Spec.TerminationGracePeriodSeconds)
	f.DeletionGrace = graceFromSeconds(pod.DeletionGracePeriodSeconds)
	if sourced && source != podmanager.ApiserverSource { // podmanager.IsStaticPod, with one look-up
		f.Static = true
		f.FullName = podmanager.FullName(pod)
	}
}

// killOptions converts kill options for the table.
func killOptions(o *KillPodOptions) lifecycle.KillOptions {
	return lifecycle.KillOptions{
		Evict:         o.Evict,
		PodStatusFunc: o.PodStatusFunc != nil,
		Grace:         graceFromSeconds(o.PodTerminationGracePeriodSecondsOverride),
	}
}

// graceFromSeconds converts an optional number of seconds into a Grace.
func graceFromSeconds(seconds *int64) lifecycle.Grace {
	if seconds == nil {
		return lifecycle.Grace{}
	}
	return lifecycle.Seconds(*seconds)
}
