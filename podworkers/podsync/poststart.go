package podsync

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// postStartFailed is why a container is killed whose hook failed or was cut short.
const postStartFailed = "its PostStart hook was no success"

// runPostStart runs the PostStart hook of the container, if it has one. It publishes the container as
// running before that. If the hook fails it stops the container, within the grace period of the pod
// (KC-5).
func (st *containerStart) runPostStart(ctx context.Context, id string) error {
	c := st.Container
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	st.note(plan.StagePostStart, id)
	st.publishRunning(ctx)
	var err error
	podworkers.WithoutSlot(ctx, func() {
		h := hook{
			syncPass: st.syncPass, purpose: runtime.PostStartHook, handler: c.Lifecycle.PostStart, id: id, name: st.Name, ports: c.Ports,
			by: st.executor.Now().Add(st.cfg.HookTimeout),
		}
		err = h.run(ctx, RunPostStartHook)
	})
	failed, ok := contain.AsType[*hookFailure](err)
	switch {
	case err == nil:
		st.note(plan.StageStarted, id)
		return nil
	case !ok:
		return err
	}
	st.recordWarning(st.Name, eventPostStart, "The PostStart hook of container %s failed: %s", st.Name, failed)
	targets := []target{st.killer.newPostStartTarget(id, st.Name)}
	if !errors.Is(failed, runtime.ErrWrongState) { // Otherwise the container has exited by itself.
		st.noteReplacing(st.Name, id)
	}
	return errors.Join(because(podstatus.ReasonPostStartHookError, failed), st.killer.stopAndInspect(ctx, targets))
}

// publishRunning inspects the pod and publishes its status in the middle of a pass, because a hook may
// take long. The hook also needs the address of a sandbox that was created in this pass.
func (w *statusWriter) publishRunning(ctx context.Context) {
	status, err := w.inspectPod(ctx, w.pod.UID)
	if err != nil {
		return // A later sync publishes it.
	}
	w.useStatus(status)
	w.publish(ctx, false, nil)
}

// hidePostStartPending returns a status for the prober, without the IDs of the containers whose
// PostStart hook has not succeeded: they are not probed yet. It does not change the status.
func (w *statusWriter) hidePostStartPending(status *v1.PodStatus) *v1.PodStatus {
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

// stopPostStartPending stops the containers that run although their PostStart hook has not succeeded: it
// was cut short, or the stop after it has failed. A restarted agent does not know them and lets them run
// (KC-6).
func (k *podKiller) stopPostStartPending(ctx context.Context) error {
	var targets []target
	for i := range k.status.Containers {
		c := &k.status.Containers[i]
		if c.State != runtime.StateExited && k.incarnation.memory.IsPostStartPending(c.Name, c.ID) {
			targets = append(targets, k.newPostStartTarget(c.ID, c.Name))
		}
	}
	for i := range targets {
		k.noteReplacing(targets[i].name, targets[i].id)
	}
	return k.stopAndInspect(ctx, targets)
}

// newPostStartTarget returns a container as a target, with the grace period of the pod.
func (k *podKiller) newPostStartTarget(id, name string) target {
	return k.newTarget(id, name, postStartFailed, func(request.StopInfo) time.Duration { return grace(k.pod, nil, nil) })
}

// stopAndInspect stops containers and takes over the status that shows them as stopped.
func (k *podKiller) stopAndInspect(ctx context.Context, targets []target) error {
	if len(targets) == 0 {
		return nil
	}
	if err := k.stopContainers(ctx, targets, false); err != nil {
		return err
	}
	if err := k.confirmStopped(ctx, targets, false); err != nil {
		return err
	}
	k.useStatus(k.after)
	return nil
}
