package podsync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/turn"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/plan"
	"github.com/podkeel/podkeel/runtime"
)

// minimumGrace is what every container gets between the signal and the kill,
// unless it has already outlived one that the runtime reported.
const minimumGrace = 2 * time.Second

// longest is as good as for ever, and leaves room for sums of a few.
const longest time.Duration = math.MaxInt64 / 4

// grace is how long a pod's containers may take to end: what the deletion
// says, else the spec, replaced by an override.
func grace(pod *v1.Pod, override *int64) time.Duration {
	var n int64
	switch {
	case override != nil:
		n = *override
	case pod.DeletionGracePeriodSeconds != nil:
		n = *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		n = *pod.Spec.TerminationGracePeriodSeconds
	}
	n = min(max(n, 0), int64(longest/time.Second)) // No product of it is negative (F11).
	return max(time.Duration(n)*time.Second, minimumGrace)
}

// target is one container to stop.
type target struct {
	id, name string
	why      string
	created  bool // has not run: it is removed, so that a late start finds nothing
}

// killPod stops every container of a pod and then its sandboxes, those of
// former lives too, and sees for itself that nothing runs. It may be repeated.
func (s *Syncer) killPod(ctx context.Context, v *visit, override *int64, why string) error {
	var targets []target
	for i := range v.status.Containers {
		c := &v.status.Containers[i]
		if c.State != runtime.StateExited {
			targets = append(targets, target{c.ID, c.Name, why, c.State == runtime.StateCreated})
		}
	}
	err := s.stopAll(ctx, v, targets, grace(v.pod, override))
	if cut(ctx, err) {
		return err
	}
	sandboxes := make([]string, len(v.status.Sandboxes))
	for i := range sandboxes {
		sandboxes[i] = v.status.Sandboxes[i].ID
	}
	err = errors.Join(err, s.stopSandboxes(ctx, v, sandboxes, ""))
	if err != nil {
		return err
	}
	return s.confirm(ctx, v, targets, true)
}

// killSome stops single containers, as they are given. They have the time that
// the pod's spec gives them.
func (s *Syncer) killSome(ctx context.Context, v *visit, kills []plan.Kill) error {
	if len(kills) == 0 {
		return nil
	}
	targets := make([]target, len(kills))
	for i, k := range kills {
		targets[i] = target{id: k.ID, name: k.Name, why: string(k.Why)}
	}
	if err := s.stopAll(ctx, v, targets, grace(v.pod, nil)); err != nil {
		return err
	}
	return s.confirm(ctx, v, targets, false)
}

// stopAll stops containers at the same time, each within the grace. One that
// fails does not keep the others.
func (s *Syncer) stopAll(ctx context.Context, v *visit, targets []target, grace time.Duration) error {
	errs := make([]error, len(targets))
	podworkers.WithoutSlot(ctx, func() { // Waiting for a grace period is not work.
		turn.Each(s.turn, 0, len(targets), func(i int) {
			errs[i] = s.stop(ctx, v, targets[i], grace)
		})
	})
	return errors.Join(errs...)
}

// stop stops one container. A call that is cut short has done no harm: the
// next one takes over, with the grace that is left to it.
func (s *Syncer) stop(ctx context.Context, v *visit, t target, grace time.Duration) error {
	if t.created {
		return because(ErrKillContainer, s.removeContainer(ctx, v, t.id, "never ran"))
	}
	if v.life.stubborn[t.id] {
		grace = 0 // It was stopped before, on the runtime's word, and runs.
	}
	s.cfg.Recorder.Eventf(v.pod, v1.EventTypeNormal, "Killing", "Stopping container %s: %s", t.name, t.why)
	return s.do(ctx, v, Result{Action: KillContainer, Target: t.name, Why: t.why}, func() error {
		v.touched.Store(true)
		err := s.ask(ctx, grace+s.cfg.CallTimeout, func(ctx context.Context) error {
			return s.cfg.Runtime.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: t.id, Grace: grace})
		})
		if errors.Is(err, runtime.ErrNotFound) {
			return nil
		}
		return because(ErrKillContainer, err)
	})
}

// stopSandboxes stops sandboxes of a pod.
func (s *Syncer) stopSandboxes(ctx context.Context, v *visit, ids []string, why string) error {
	errs := make([]error, len(ids))
	turn.Each(s.turn, 0, len(ids), func(i int) {
		errs[i] = s.do(ctx, v, Result{Action: KillPodSandbox, Target: ids[i], Why: why}, func() error {
			v.touched.Store(true)
			err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
				return s.cfg.Runtime.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: ids[i]})
			})
			if errors.Is(err, runtime.ErrNotFound) {
				return nil
			}
			return because(ErrKillPodSandbox, err)
		})
	})
	return errors.Join(errs...)
}

// confirm looks at the pod again and fails if any of the containers that were
// stopped runs, or, where nothing must be left, anything of the pod, a sandbox
// included: two that are ready would cost the next life its containers. What
// was stopped and runs was stopped on the runtime's word alone; a container gets
// no grace next time, a sandbox has none to lose.
func (s *Syncer) confirm(ctx context.Context, v *visit, stopped []target, nothingLeft bool) error {
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot see whether the pod has stopped: %w", err)
	}
	v.after = status
	var running []string
	for i := range status.Containers {
		c := &status.Containers[i]
		lied := among(stopped, c.ID)
		if c.State != runtime.StateRunning || !lied && !nothingLeft {
			continue
		}
		running = append(running, c.Name)
		if lied {
			v.life.distrust(c.ID)
		}
	}
	if len(running) > 0 {
		return because(ErrKillContainer, fmt.Errorf("still running: %s", strings.Join(running, ", ")))
	}
	if ready := readySandboxes(status); nothingLeft && len(ready) > 0 {
		return because(ErrKillPodSandbox, fmt.Errorf("sandboxes are still ready: %s", strings.Join(ready, ", ")))
	}
	return nil
}

func readySandboxes(status *runtime.PodStatus) []string {
	var ready []string
	for i := range status.Sandboxes {
		if status.Sandboxes[i].Ready {
			ready = append(ready, status.Sandboxes[i].ID)
		}
	}
	return ready
}

func among(targets []target, id string) bool {
	for i := range targets {
		if targets[i].id == id {
			return true
		}
	}
	return false
}
