package podsync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// target is one container to stop.
type target struct {
	id, name string
	why      string
	created  bool // has not run: it is removed, so that a late start finds nothing
	request.StopInfo
	kill *kill
}

// target prepares the kill of a container, or takes it up again. The record is
// nil if the sync pass has none.
func (s *Syncer) target(v *syncPass, id, name, why string, graceOf func(request.StopInfo) time.Duration) target {
	rec := v.record(id)
	t := target{id: id, name: name, why: why, StopInfo: request.StopInfoOf(v.pod, v.incarnation.number, name, rec)}
	t.created = rec != nil && rec.State == runtime.StateCreated
	t.kill = v.incarnation.killing().of(id, s.executor.Now().Add(graceOf(t.StopInfo)))
	return t
}

// killPod stops every container of a pod and then its sandboxes, those of
// previous incarnations too, and sees for itself that nothing runs. It may be repeated.
func (s *Syncer) killPod(ctx context.Context, v *syncPass, override *int64, why string) error {
	return s.killAll(ctx, v, why, func(request.StopInfo) time.Duration { return grace(v.pod, nil, override) })
}

// killAll is killPod, with a grace for each container.
func (s *Syncer) killAll(ctx context.Context, v *syncPass, why string, graceOf func(request.StopInfo) time.Duration) error {
	return s.killed(ctx, v, s.tryKillAll(ctx, v, why, graceOf))
}

func (s *Syncer) tryKillAll(ctx context.Context, v *syncPass, why string, graceOf func(request.StopInfo) time.Duration) error {
	var targets []target
	for i := range v.status.Containers {
		if c := &v.status.Containers[i]; c.State != runtime.StateExited {
			targets = append(targets, s.target(v, c.ID, c.Name, why, graceOf))
		}
	}
	err := s.stopAll(ctx, v, targets, true)
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

// killSome stops single containers, as they are given, in no order (TO-8).
func (s *Syncer) killSome(ctx context.Context, v *syncPass, kills []plan.Step) error {
	if len(kills) == 0 {
		return nil
	}
	targets := make([]target, len(kills))
	for i, k := range kills {
		if k.Reason.Replaces() {
			s.toReplace(v, k.Name, k.ID)
		}
		targets[i] = s.target(v, k.ID, k.Name, string(k.Reason), func(request.StopInfo) time.Duration { return grace(v.pod, k.Grace, nil) })
	}
	err := s.stopAll(ctx, v, targets, false)
	if err == nil {
		err = s.confirm(ctx, v, targets, false)
	}
	return s.killed(ctx, v, err)
}

// stopAll stops containers at the same time (TO-1), each within its grace, and
// those of a whole pod in their order. One that fails does not keep the others
// (TO-2).
func (s *Syncer) stopAll(ctx context.Context, v *syncPass, targets []target, whole bool) error {
	errs := make([]error, len(targets))
	q := newQueue(s.executor, targets, whole)
	podworkers.WithoutSlot(ctx, func() { // Waiting for a grace period is not work.
		branches := executor.WithBranches(ctx, len(targets))
		executor.Each(s.executor, 0, len(targets), func(i int) {
			defer q.served[i].Open()
			errs[i] = s.stop(branches[i], v, &targets[i], func() (context.Context, error) { return s.await(branches[i], q, i, targets[i].kill) })
		})
	})
	return errors.Join(errs...)
}

// stop stops one container: its hook, its turn, its signal. The signal is sent with the context
// that await returns. A call that is cut
// short has done no harm: the next one takes over, with the grace that is left.
func (s *Syncer) stop(ctx context.Context, v *syncPass, t *target, await func() (context.Context, error)) error {
	if t.created {
		if err := s.removeUnstarted(ctx, v, t.id); !errors.Is(err, runtime.ErrWrongState) {
			return because(podstatus.ReasonKillContainerError, err)
		}
		// A start that an agent before this one sent has come: it runs, or is about to.
	}
	s.tell(v, t.name, eventKilling, "Stopping container %s: %s", t.name, t.why)
	return s.do(ctx, v, Result{Action: KillContainer, Target: t.name, Why: t.why}, func() error {
		v.touched.Store(true)
		return because(podstatus.ReasonKillContainerError, s.afterPreStop(ctx, v, t, func() error {
			ctx, err := await()
			if err != nil {
				return err
			}
			return s.signal(ctx, v, t)
		}))
	})
}

// signal sends the stop signal, and the kill when the grace that is left is
// over. A container that is gone has stopped (KC-14).
func (s *Syncer) signal(ctx context.Context, v *syncPass, t *target) error {
	if err := ctx.Err(); err != nil {
		return err // Those before it in the queue were cut short: it has not had its turn.
	}
	left := max(t.kill.by.Sub(s.executor.Now()), minimumGrace)
	if v.incarnation.kills.notConfirmed[t.id] {
		left = 0 // It was stopped before, on the runtime's word, and runs.
	}
	err := s.ask(ctx, left+s.cfg.CallTimeout, func(ctx context.Context) error {
		return s.cfg.Runtime.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: t.id, Grace: left})
	})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// stopSandboxes stops sandboxes of a pod.
func (s *Syncer) stopSandboxes(ctx context.Context, v *syncPass, ids []string, why string) error {
	errs := make([]error, len(ids))
	branches := executor.WithBranches(ctx, len(ids))
	executor.Each(s.executor, 0, len(ids), func(i int) {
		ctx := branches[i]
		errs[i] = s.do(ctx, v, Result{Action: KillPodSandbox, Target: ids[i], Why: why}, func() error {
			v.touched.Store(true)
			err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) error {
				return s.cfg.Runtime.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: ids[i]})
			})
			if errors.Is(err, runtime.ErrNotFound) {
				return nil
			}
			return because(podstatus.ReasonKillPodSandboxError, err)
		})
	})
	return errors.Join(errs...)
}

// confirm looks at the pod again and fails if any of the containers that were
// stopped runs, or, where nothing must be left, anything of the pod, a sandbox
// included: two that are ready would cost the next incarnation its containers. What
// was stopped and runs was stopped on the runtime's word alone; a container gets
// no grace next time, a sandbox has none to lose.
func (s *Syncer) confirm(ctx context.Context, v *syncPass, stopped []target, nothingLeft bool) error {
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot see whether the pod has stopped: %w", err)
	}
	v.after = status
	var running []string
	for i := range status.Containers {
		c := &status.Containers[i]
		if c.State == runtime.StateExited {
			delete(v.incarnation.killing().notConfirmed, c.ID)
		}
		lied := among(stopped, c.ID)
		if c.State != runtime.StateRunning || !lied && !nothingLeft {
			continue
		}
		running = append(running, c.Name)
		if lied {
			v.incarnation.killing().markNotConfirmed(c.ID)
		}
	}
	if len(running) > 0 {
		return because(podstatus.ReasonKillContainerError, fmt.Errorf("still running: %s", strings.Join(running, ", ")))
	}
	if ready := readySandboxes(status); nothingLeft && len(ready) > 0 {
		return because(podstatus.ReasonKillPodSandboxError, fmt.Errorf("sandboxes are still ready: %s", strings.Join(ready, ", ")))
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
