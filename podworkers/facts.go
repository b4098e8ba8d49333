package podworkers

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// describe turns an update into the words of the table. Only of a pod that may
// be seen for the first time it matters what the runtime shows: nothing, if it
// is in a terminal phase already, or what somebody started before. The answer
// must not wait (B-005).
func (w *Workers) describe(o *UpdatePodOptions, u *lifecycle.Update) error {
	u.Type, u.Observation = o.UpdateType, o.Observation
	switch {
	case o.Pod != nil: // It wins (B-002).
		u.UID, u.Subject = o.Pod.UID, lifecycle.ConfigPod
		facts(o.Pod, &u.Facts)
		if u.Facts.TerminalPhase || o.UpdateType == SyncPodCreate {
			status, err := w.config.Cache.Get(o.Pod.UID)
			switch {
			case status.MayRun():
				u.Runtime = lifecycle.RuntimeRunning
			case err == nil:
				u.Runtime = lifecycle.RuntimeStopped
			}
		}
	case o.RunningPod != nil:
		u.UID, u.Subject = o.RunningPod.UID, lifecycle.RuntimePod
		u.AsOf = o.Generation
	default:
		return fmt.Errorf("podworkers: %w: it has neither Pod nor RunningPod", ErrInvalid)
	}
	if o.KillPodOptions != nil {
		u.Kill = killOptions(o.KillPodOptions)
	}
	return nil
}

func facts(pod *v1.Pod, f *lifecycle.Facts) {
	source, sourced := pod.Annotations[podmanager.ConfigSourceAnnotation]
	f.Source = source
	f.Deleted = pod.DeletionTimestamp != nil
	f.TerminalPhase = podstatus.IsTerminal(pod.Status.Phase)
	f.SpecGrace = grace(pod.Spec.TerminationGracePeriodSeconds)
	f.DeletionGrace = grace(pod.DeletionGracePeriodSeconds)
	if sourced && source != podmanager.ApiserverSource { // podmanager.IsStaticPod, with one look-up
		f.Static = true
		f.FullName = podmanager.FullName(pod)
	}
}

func killOptions(o *KillPodOptions) lifecycle.KillOptions {
	return lifecycle.KillOptions{
		Evict:         o.Evict,
		PodStatusFunc: o.PodStatusFunc != nil,
		Grace:         grace(o.PodTerminationGracePeriodSecondsOverride),
	}
}

func grace(seconds *int64) lifecycle.Grace {
	if seconds == nil {
		return lifecycle.Grace{}
	}
	return lifecycle.Seconds(*seconds)
}
