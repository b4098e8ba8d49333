package podsync

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// statusWriter writes the status of one pod in a sync. It computes the status, stores it, and saves the
// parts that must survive a restart of the agent.
type statusWriter struct {
	*syncPass
	terminating   bool                    // the sync is a SyncTerminatingPod
	starting      []plan.Step             // the starts of containers in this sync
	podValues     *podresources.PodValues // the values of the cgroup in the last published status; nil: none
	storePanicErr error                   // the error of a contained panic of Config.Status; the sync returns it
}

// newStatusWriterAndConsumeSavedStates returns the statusWriter for one sync of a pod. In the first sync of a pod
// it also moves the container states that an earlier process saved into the memory of the pod. The store of saved
// states then no longer returns them.
func (s *Syncer) newStatusWriterAndConsumeSavedStates(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *statusWriter {
	w := &statusWriter{syncPass: s.newSyncPass(ctx, pod, status)}
	w.consumeSavedContainerStatesOnce()
	return w
}

// publishStatus computes the status of the pod from the runtime status and the probe results, changes it with
// statusFunc, stores it and returns it. Unless terminal is true or the store panics, it then saves the terminal
// status and the container states and passes the stored status to the prober. terminal means that no container
// of the pod runs or will run.
func (w *statusWriter) publishStatus(ctx context.Context, terminal bool, statusFunc podworkers.PodStatusFunc) v1.PodStatus {
	w.observeOOM()
	w.podValues = w.readPodValues()
	in := plan.StatusInput{
		Pod: w.podWithReadinessFromEarlierProcess(), Runtime: w.statusWithTerminationMessages(ctx), Incarnation: w.incarnation.number, Old: w.publishedStatus(), Terminal: terminal,
		PodValues: w.podValues, Ending: w.terminating, Memory: w.incarnation.memory, Static: podmanager.IsStaticPod(w.pod), Starting: w.starting, Addresses: true, Resizes: w.runtimeFeatures().Updater != nil, RecursiveReadOnly: w.supportsRecursiveReadOnly(), HostIPs: w.hostIPs(), RuntimeName: w.cfg.RuntimeName,
	}
	status := plan.ContainerStatuses(in)
	w.cfg.Probes.UpdatePodStatus(w.pod, &status) // PH-13
	status = plan.CompleteStatus(in, status)
	w.clearWaitingReasons(&status)
	w.applyStatusFunc(&status, statusFunc)
	if !w.replaceOrSetStoredStatus(status) {
		return status
	}
	w.incarnation.persisted.statusPublished = true
	w.recordResizeCompleted(&status)
	if w.incarnation.memory.HasUnpublishedStart() {
		w.readPublishedStatus(func(stored *v1.PodStatus) { w.incarnation.memory = w.incarnation.memory.RecordPublished(stored) })
	}
	if !terminal {
		w.saveOrDropTerminalStatus(plan.IsTerminal(status.Phase))
		if !w.terminating && !plan.IsTerminal(status.Phase) {
			w.saveContainerStatesIfChanged()
		}
		w.passStatusWithHiddenIDsToProberIfProbed()
	}
	return status
}

// supportsRecursiveReadOnly reports whether the runtime handler of the pod supports recursive read-only mounts. It returns
// false if the class of the pod is not known, or if Config.RuntimeClass panics.
func (w *statusWriter) supportsRecursiveReadOnly() bool {
	supported, class := w.runtimeFeatures().RecursiveReadOnly, w.pod.Spec.RuntimeClassName
	if len(supported) == 0 || class == nil || *class == "" {
		return supported[""]
	}
	var handler string
	known := false
	err := w.guard.Call("RuntimeClass", func() {
		handler, known = runtimeHandlersForPod(w.pod, w.cfg.Handlers, w.cfg.RuntimeClass)[*class]
	})
	return err == nil && known && supported[handler]
}

// applyStatusFunc changes the status with the caller's statusFunc, which may be nil. If statusFunc panics, the
// status stays unchanged.
func (w *statusWriter) applyStatusFunc(status *v1.PodStatus, statusFunc podworkers.PodStatusFunc) {
	if statusFunc == nil {
		return
	}
	changed := status.DeepCopy()
	if w.guard.Call("PodStatusFunc", func() { statusFunc(changed) }) == nil {
		*status = *changed
	}
}

// passStatusWithHiddenIDsToProberIfProbed passes the stored status of the pod to the prober. It does nothing if
// no container of the pod has a probe. In the passed status, a container whose postStart hook has not succeeded
// has no ID (PR-4).
func (w *statusWriter) passStatusWithHiddenIDsToProberIfProbed() {
	if !request.HasProbes(w.pod) {
		return
	}
	w.readPublishedStatus(func(stored *v1.PodStatus) {
		w.cfg.Probes.ObserveStatus(w.pod.UID, w.hideIDsWithPendingPostStart(stored))
	})
}

// clearWaitingReasons clears, in the memory of the pod, the waiting reason of each init or regular container
// that is running in the status. Such a container may run although its start returned an error.
func (w *statusWriter) clearWaitingReasons(status *v1.PodStatus) {
	for _, statuses := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil {
				w.incarnation.memory = w.incarnation.memory.SetWaitingReason(statuses[i].Name, plan.Reason{})
			}
		}
	}
}

// isNewWaitingReason reports whether err has a waiting reason or message that differs from the last stored one
// of the container. It returns true if err has no waiting reason. Events are recorded only for a new reason.
func (p *podStarter) isNewWaitingReason(container string, err error) bool {
	reason, ok := waitingReasonOfError(err)
	return !ok || p.incarnation.memory.WaitingReason(container) != reason
}

// setWaitingReason stores the waiting reason of err for a container in the memory of the pod, and sets
// reasonsChanged if it is a new one. A nil error clears the stored reason. An error without a waiting reason
// changes nothing.
func (p *podStarter) setWaitingReason(container string, err error) {
	if err == nil {
		p.incarnation.memory = p.incarnation.memory.SetWaitingReason(container, plan.Reason{})
		return
	}
	reason, ok := waitingReasonOfError(err)
	if !ok || p.incarnation.memory.WaitingReason(container) == reason {
		return
	}
	p.incarnation.memory = p.incarnation.memory.SetWaitingReason(container, reason)
	p.reasonsChanged = true
}
