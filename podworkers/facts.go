package podworkers

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// fillTableUpdate fills in the update for the lifecycle table from the caller's options. It returns ErrInvalid
// if the options have neither Pod nor RunningPod. For a created pod and for a pod in a terminal phase it also
// reads from the status cache whether a container may run; it does not wait for a newer status (B-005).
func (w *Workers) fillTableUpdate(o *UpdatePodOptions, update *lifecycle.Update) error {
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
		update.Kill = toTableKillOptions(o.KillPodOptions)
	}
	return nil
}

// setPodFacts fills in what the lifecycle table needs from a pod: source, deletion, terminal phase, grace
// periods and, for a static pod, the full name (name_namespace).
func setPodFacts(pod *v1.Pod, f *lifecycle.Facts) {
	source, sourced := pod.Annotations[podmanager.ConfigSourceAnnotation]
	f.Source = source
	f.Deleted = pod.DeletionTimestamp != nil
	f.TerminalPhase = podstatus.IsTerminal(pod.Status.Phase)
	f.SpecGrace = lifecycle.GraceFromAPI(pod.Spec.TerminationGracePeriodSeconds)
	f.DeletionGrace = lifecycle.GraceFromAPI(pod.DeletionGracePeriodSeconds)
	if sourced && source != podmanager.ApiserverSource { // podmanager.IsStaticPod, with one look-up
		f.Static = true
		f.FullName = podmanager.FullName(pod)
	}
}

// toTableKillOptions converts kill options of this package into kill options of package lifecycle. It does not
// pass the status func, only whether it is set.
func toTableKillOptions(o *KillPodOptions) lifecycle.KillOptions {
	return lifecycle.KillOptions{
		Evict:         o.Evict,
		PodStatusFunc: o.PodStatusFunc != nil,
		Grace:         lifecycle.GraceFromAPI(o.PodTerminationGracePeriodSecondsOverride),
	}
}
