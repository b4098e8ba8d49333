package podsync

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// postStartFailed is the reason of the stop of a container whose postStart hook failed or was cut
// short.
const postStartFailed = "its PostStart hook did not succeed"

// runPostStart runs the postStart hook of the container, if it has one, and returns nil after a success. Before
// the hook it publishes the status with the running container. If the hook fails, it records an event, stops
// the container within the grace period of the pod, and returns an error (KC-5).
func (st *containerStart) runPostStart(ctx context.Context, id string) error {
	c := st.Container
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	st.recordStage(plan.StagePostStart, id)
	st.inspectAndPublish(ctx)
	var err error
	podworkers.WithoutSlot(ctx, func() {
		h := hook{
			syncPass: st.syncPass, purpose: runtime.PostStartHook, handler: c.Lifecycle.PostStart, id: id, name: st.Name, ports: c.Ports,
			deadline: st.executor.Now().Add(st.cfg.HookTimeout),
		}
		err = h.runHookAndReport(ctx, RunPostStartHook)
	})
	failed, ok := contain.AsType[*hookFailure](err)
	switch {
	case err == nil:
		st.recordStage(plan.StageStarted, id)
		return nil
	case !ok:
		return err
	}
	st.recordWarning(st.Name, eventPostStart, "The PostStart hook of container %s failed: %s", st.Name, failed)
	targets := []stopTarget{st.killer.newPostStartTarget(id, st.Name)}
	if !errors.Is(failed, runtime.ErrWrongState) { // ErrWrongState means that the container has exited by itself.
		st.recordAndSaveStopForNextAttempt(st.Name, id)
	}
	return errors.Join(withWaitingReason(podstatus.ReasonPostStartHookError, failed), st.killer.stopAndInspect(ctx, targets))
}

// inspectAndPublish inspects the pod and publishes its status in the middle of a sync, before a hook that may
// take long. If the inspection fails, it does nothing.
func (w *statusWriter) inspectAndPublish(ctx context.Context) {
	status, err := w.inspectPod(ctx, w.pod.UID)
	if err != nil {
		return // A later sync publishes it.
	}
	w.setAndRecordObservedStatus(status)
	w.publishStatus(ctx, false, nil)
}

// hideIDsWithPendingPostStart returns a copy of a status without the IDs of the running containers whose
// postStart hook has not succeeded. So the prober does not probe them yet. It returns the status itself if
// there is no such container.
func (w *statusWriter) hideIDsWithPendingPostStart(status *v1.PodStatus) *v1.PodStatus {
	isPending := func(c v1.ContainerStatus) bool {
		return c.State.Running != nil && w.incarnation.memory.IsPostStartPending(c.Name, c.ContainerID)
	}
	if !slices.ContainsFunc(status.InitContainerStatuses, isPending) && !slices.ContainsFunc(status.ContainerStatuses, isPending) {
		return status
	}
	hidden := *status
	for _, list := range [...]*[]v1.ContainerStatus{&hidden.InitContainerStatuses, &hidden.ContainerStatuses} {
		*list = slices.Clone(*list)
		for i := range *list {
			if c := &(*list)[i]; isPending(*c) {
				c.ContainerID = ""
			}
		}
	}
	return &hidden
}

// stopContainersWithPendingPostStart stops each container whose postStart hook has begun and not succeeded.
// Such a hook was cancelled, or an earlier stop after its failure failed. It also stores that these containers
// are stopped for their next attempt. It does not know the hooks of an earlier process of the agent (KC-6).
func (k *podKiller) stopContainersWithPendingPostStart(ctx context.Context) error {
	var targets []stopTarget
	for i := range k.status.Containers {
		c := &k.status.Containers[i]
		if c.State != runtime.StateExited && k.incarnation.memory.IsPostStartPending(c.Name, c.ID) {
			targets = append(targets, k.newPostStartTarget(c.ID, c.Name))
		}
	}
	for i := range targets {
		k.recordAndSaveStopForNextAttempt(targets[i].name, targets[i].id)
	}
	return k.stopAndInspect(ctx, targets)
}

// newPostStartTarget returns the stopTarget of a container whose postStart hook did not succeed, with the grace
// period of the pod. It stops nothing.
func (k *podKiller) newPostStartTarget(id, name string) stopTarget {
	return k.newStopTarget(id, name, postStartFailed, lifecycle.ContainerGrace{})
}

// stopAndInspect stops containers, confirms that with the runtime, and uses the new runtime status for the rest
// of the sync. Without targets it does nothing.
func (k *podKiller) stopAndInspect(ctx context.Context, targets []stopTarget) error {
	if len(targets) == 0 {
		return nil
	}
	if err := k.stopContainers(ctx, targets, false); err != nil {
		return err
	}
	if err := k.inspectAndConfirmStopped(ctx, targets, false); err != nil {
		return err
	}
	k.setAndRecordObservedStatus(k.statusAfterKill)
	return nil
}
