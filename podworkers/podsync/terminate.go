package podsync

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// SyncTerminatingPod implements podworkers.PodSyncer. It stops the pod, confirms that with the runtime,
// and publishes the terminal status while the runtime still has the records.
func (s *Syncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus, gracePeriod *int64, podStatusFn podworkers.PodStatusFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	killer := s.newPodKiller(ctx, pod, podStatus)
	killer.terminating = true
	published := killer.publishStatus(ctx, false, podStatusFn)
	if killer.isPhaseReasonAndMessageStored(&published) {
		podStatusFn = nil // The stored status keeps the change.
	}
	defer killer.callChangedHookIfMayHaveChanged()
	s.cfg.Probes.StopLivenessAndStartup(pod.UID)
	if err := killer.killPod(ctx, lifecycle.GraceFromAPI(gracePeriod), "the pod ends"); err != nil {
		if !isCancelled(ctx, err) {
			killer.recordWarning("", eventKillPod, "error killing pod: %v", err)
		}
		return err
	}
	s.cfg.Probes.RemovePod(pod.UID)
	killer.setAndRecordObservedStatus(killer.statusAfterKill)
	killer.publishStatus(ctx, true, podStatusFn)
	return killer.storePanicErr
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer. It first inspects the pod, because the
// list of the caller may be old. It stops each container as the annotations of the container require:
// with the grace period, the hooks and the stop order of its pod. It publishes no status.
func (s *Syncer) SyncTerminatingRuntimePod(ctx context.Context, runningPod *runtime.Pod) error {
	if runningPod == nil {
		return errors.New("podsync: no pod to terminate")
	}
	status, err := s.inspectPod(ctx, runningPod.UID)
	if err != nil {
		return err
	}
	killer := s.newPodKiller(ctx, orphanPod(runningPod), status)
	killer.runtimeOnly = true
	defer killer.callChangedHookIfMayHaveChanged()
	if err := killer.killPod(ctx, lifecycle.Grace{}, "the pod is not desired"); err != nil {
		return err
	}
	if killer.statusAfterKill.MayRun() {
		// Without this error each housekeeping would stop the pod again, without end.
		return killer.recordKillResultAndDelayRetry(ctx, errors.New("podsync: the pod was stopped, and the runtime does not report whether it still runs"))
	}
	s.clearIncarnationAndMarkEnded(killer.incarnation)
	return nil
}

// orphanPod returns a pod object that has only the name, namespace and UID of a runtime pod.
func orphanPod(p *runtime.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID}}
}

// SyncTerminatedPod implements podworkers.PodSyncer. It publishes the terminal status and tears down
// the volumes. It leaves the containers to garbage collection, so that their logs stay readable.
func (s *Syncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writer := s.newStatusWriterAndConsumeSavedStates(ctx, pod, podStatus)
	s.cfg.Probes.RemovePod(pod.UID)
	writer.publishStatus(ctx, true, nil)
	if err := writer.tearDownVolumes(ctx); err != nil {
		return err
	}
	if err := writer.tearDownCgroup(ctx); err != nil {
		return err
	}
	if writer.storePanicErr != nil {
		return writer.storePanicErr
	}
	if err := writer.terminatePodInStatusStore(); err != nil {
		return err
	}
	writer.deleteSavedContainerStates()
	if writer.incarnation.persisted.terminalStatus >= saveFailed {
		writer.saveStoredStatusIfTerminal()
	}
	s.clearIncarnationAndMarkEnded(writer.incarnation)
	return nil
}
