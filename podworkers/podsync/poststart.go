package podsync

import (
	"context"
	"errors"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// postStartFailed is why a container is killed whose hook failed or was cut short.
const postStartFailed = "its PostStart hook was no success"

// postStart tells a container that it has been started, if it wants to be told.
// That it runs is published before (outer 4.19). A container whose hook fails
// is killed within its normal grace (KC-5).
func (s *Syncer) postStart(ctx context.Context, v *syncPass, c *v1.Container, id string) error {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	if v.incarnation.starts.postStartPending == nil {
		v.incarnation.starts.postStartPending = make(map[string]bool)
	}
	v.incarnation.starts.postStartPending[id] = true // Until we know better.
	s.showRunning(ctx, v)
	var err error
	podworkers.WithoutSlot(ctx, func() {
		err = s.hook(ctx, v, RunPostStartHook, hook{
			purpose: runtime.PostStartHook, handler: c.Lifecycle.PostStart, id: id, name: c.Name, ports: c.Ports,
			by: s.executor.Now().Add(s.cfg.HookTimeout),
		})
	})
	failed, ok := contain.AsType[*hookFailure](err)
	switch {
	case err == nil:
		delete(v.incarnation.starts.postStartPending, id)
		return nil
	case !ok:
		return err
	}
	s.warn(v, c.Name, eventPostStart, "The PostStart hook of container %s failed: %s", c.Name, failed)
	targets := []target{s.postStartPending(v, id, c.Name)}
	if !errors.Is(failed, runtime.ErrWrongState) { // Otherwise it has ended by itself.
		s.toReplace(v, c.Name, id)
	}
	return errors.Join(because(podstatus.ReasonPostStartHookError, failed), s.stopRejected(ctx, v, targets))
}

// showRunning publishes a pod as it is in the middle of a sync, as far as the
// runtime shows it: a hook may take long. The hook of a pod that was made in this
// sync learns its address here.
func (s *Syncer) showRunning(ctx context.Context, v *syncPass) {
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return // It is shown later, then.
	}
	v.see(status)
	s.publish(ctx, v, false, nil)
}

// unstarted changes what a status says of the containers whose PostStart hook is
// not known to have been a success: they run, and have not started.
func (s *Syncer) unstarted(v *syncPass, status *v1.PodStatus, change func(*v1.ContainerStatus)) {
	if len(v.incarnation.starts.postStartPending) == 0 {
		return
	}
	for _, statuses := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			if id, ours := strings.CutPrefix(c.ContainerID, s.cfg.RuntimeName+"://"); ours && c.State.Running != nil && v.incarnation.starts.postStartPending[id] {
				change(c)
			}
		}
	}
}

// finishHooks ends the containers that run although their PostStart hook was no
// success: it was cut short, or the kill after it has failed. An agent that is
// started again does not know of them any more, and lets them run (KC-6).
func (s *Syncer) finishHooks(ctx context.Context, v *syncPass) error {
	var targets []target
	for i := range v.status.Containers {
		c := &v.status.Containers[i]
		switch {
		case c.State == runtime.StateExited:
			delete(v.incarnation.starts.postStartPending, c.ID)
		case v.incarnation.starts.postStartPending[c.ID]:
			targets = append(targets, s.postStartPending(v, c.ID, c.Name))
		}
	}
	for i := range targets {
		s.toReplace(v, targets[i].name, targets[i].id)
	}
	return s.stopRejected(ctx, v, targets)
}

// postStartPending is a container as a target, within its normal grace.
func (s *Syncer) postStartPending(v *syncPass, id, name string) target {
	return s.target(v, id, name, postStartFailed, func(request.StopInfo) time.Duration { return grace(v.pod, nil, nil) })
}

// stopRejected stops containers whose hook was no success, and shows that they have
// stopped.
func (s *Syncer) stopRejected(ctx context.Context, v *syncPass, targets []target) error {
	if len(targets) == 0 {
		return nil
	}
	if err := s.stopAll(ctx, v, targets, false); err != nil {
		return err
	}
	if err := s.confirm(ctx, v, targets, false); err != nil {
		return err
	}
	v.see(v.after)
	return nil
}
