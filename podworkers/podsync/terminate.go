package podsync

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// SyncTerminatingPod implements podworkers.PodSyncer: it stops the pod, sees
// that it has stopped, and says how it ended, while its records tell.
func (s *Syncer) SyncTerminatingPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus, gracePeriod *int64, podStatusFn podworkers.PodStatusFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v := s.syncPass(ctx, pod, podStatus)
	v.ending = true
	said := s.publish(ctx, v, false, podStatusFn)
	if s.took(v, &said) {
		podStatusFn = nil // What changed it is kept from now on, like all that was published.
	}
	defer s.changed(v)
	s.cfg.Probes.StopLivenessAndStartup(pod.UID)
	if err := s.killPod(ctx, v, gracePeriod, "the pod ends"); err != nil {
		if !cut(ctx, err) {
			s.warn(v, "", eventKillPod, "error killing pod: %v", err)
		}
		return err
	}
	s.cfg.Probes.RemovePod(pod.UID)
	v.see(v.after)
	s.publish(ctx, v, true, podStatusFn)
	return v.storeErr
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer. The list that a pod was
// found in may be old, so the runtime is asked again; no status is published. Its
// containers are stopped as their records say: with the grace, the hooks and the order
// of the pod that they were made for.
func (s *Syncer) SyncTerminatingRuntimePod(ctx context.Context, runningPod *runtime.Pod) error {
	if runningPod == nil {
		return errors.New("podsync: no pod to terminate")
	}
	status, err := s.look(ctx, runningPod.UID)
	if err != nil {
		return err
	}
	v := s.syncPass(ctx, orphan(runningPod), status)
	defer s.changed(v)
	if err := s.killAll(ctx, v, "the pod is not desired", ownGrace); err != nil {
		return err
	}
	if v.after.MayRun() {
		// It would be found, and killed, by the next housekeeping, without end.
		return s.killed(ctx, v, errors.New("podsync: the pod was stopped, and the runtime cannot tell whether it runs"))
	}
	s.end(v.incarnation)
	return nil
}

// ownGrace is what the record of an orphan's container says, if it does.
func ownGrace(info request.StopInfo) time.Duration {
	if info.Grace == nil {
		return orphanGrace
	}
	return *info.Grace
}

// orphan is as much of a pod as its records tell.
func orphan(p *runtime.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID}}
}

// SyncTerminatedPod implements podworkers.PodSyncer: the last word on a pod. It
// leaves the records to garbage collection, so that logs stay readable.
func (s *Syncer) SyncTerminatedPod(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v := s.syncPass(ctx, pod, podStatus)
	s.cfg.Probes.RemovePod(pod.UID)
	s.publish(ctx, v, true, nil)
	if err := s.tearDown(ctx, v); err != nil {
		return err
	}
	if v.storeErr != nil {
		return v.storeErr
	}
	if err := s.finish(pod); err != nil {
		return err
	}
	s.forgetContainers(v)
	if v.incarnation.kept.ending >= saveFailed {
		s.keepTerminalStatus(v)
	}
	s.end(v.incarnation)
	return nil
}
