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

// target is one container to stop in a sync pass.
type target struct {
	*syncPass
	id, name string
	why      string
	created  bool // it has not run: it is removed, so that a late start cannot find it
	request.StopInfo
	// planned is written by stop alone, and noted in the memory of the pod after the stops.
	planned plan.Stop
}

// newTarget begins the kill of a container, or continues it. graceOf returns the grace period of a kill
// that begins.
func (p *syncPass) newTarget(id, name, why string, graceOf func(request.StopInfo) time.Duration) target {
	rec := p.containerRecord(id)
	t := target{syncPass: p, id: id, name: name, why: why, StopInfo: request.StopInfoOf(p.pod, p.incarnation.number, name, rec)}
	t.created = rec != nil && rec.State == runtime.StateCreated
	t.planned = p.incarnation.memory.Stop(id).Within(p.executor.Now().Add(graceOf(t.StopInfo)))
	return t
}

// killPod stops every container of the pod and then its sandboxes, those of previous incarnations too,
// and inspects the pod. It returns an error if anything runs. A later call continues it.
func (p *syncPass) killPod(ctx context.Context, override *int64, why string) error {
	return p.killPodWithGrace(ctx, why, func(request.StopInfo) time.Duration { return grace(p.pod, nil, override) })
}

// killPodWithGrace does what killPod does, with a grace period for each container.
func (p *syncPass) killPodWithGrace(ctx context.Context, why string, graceOf func(request.StopInfo) time.Duration) error {
	return p.noteKillResult(ctx, p.stopPod(ctx, why, graceOf))
}

func (p *syncPass) stopPod(ctx context.Context, why string, graceOf func(request.StopInfo) time.Duration) error {
	var targets []target
	for i := range p.status.Containers {
		if c := &p.status.Containers[i]; c.State != runtime.StateExited {
			targets = append(targets, p.newTarget(c.ID, c.Name, why, graceOf))
		}
	}
	err := p.stopContainers(ctx, targets, true)
	if isCancelled(ctx, err) {
		return err
	}
	sandboxes := make([]string, len(p.status.Sandboxes))
	for i := range sandboxes {
		sandboxes[i] = p.status.Sandboxes[i].ID
	}
	err = errors.Join(err, p.stopSandboxes(ctx, sandboxes, ""))
	if err != nil {
		return err
	}
	return p.confirmStopped(ctx, targets, true)
}

// killContainers stops single containers at the same time, in no order (TO-8).
func (p *syncPass) killContainers(ctx context.Context, kills []plan.Step) error {
	if len(kills) == 0 {
		return nil
	}
	targets := make([]target, len(kills))
	for i, k := range kills {
		if k.Replaces {
			p.noteReplacing(k.Name, k.ID)
		}
		targets[i] = p.newTarget(k.ID, k.Name, string(k.Reason), func(request.StopInfo) time.Duration { return grace(p.pod, k.Grace, nil) })
	}
	err := p.stopContainers(ctx, targets, false)
	if err == nil {
		err = p.confirmStopped(ctx, targets, false)
	}
	return p.noteKillResult(ctx, err)
}

// stopContainers stops containers at the same time (TO-1), each within its grace period. If they are all
// of a pod it keeps their order. A failed stop does not block the others (TO-2).
func (p *syncPass) stopContainers(ctx context.Context, targets []target, whole bool) error {
	errs := make([]error, len(targets))
	q := newQueue(p.executor, targets, whole)
	p.noteStops(targets)
	podworkers.WithoutSlot(ctx, func() { // Waiting for a grace period is not work.
		branches := executor.WithBranches(ctx, len(targets))
		executor.Each(p.executor, 0, len(targets), func(i int) {
			defer q.served[i].Open()
			errs[i] = targets[i].stop(branches[i], func() (context.Context, error) { return p.waitForTurn(branches[i], q, i, targets[i].planned.By) })
		})
	})
	p.noteStops(targets)
	return errors.Join(errs...)
}

// noteStops notes the stops of targets in the memory of the pod.
func (p *syncPass) noteStops(targets []target) {
	stops := make([]plan.Stop, len(targets))
	for i := range targets {
		stops[i] = targets[i].planned
	}
	p.incarnation.memory = p.incarnation.memory.WithStops(stops...)
}

// stop stops one container: it runs the preStop hook, waits for its turn, and sends the stop with the
// context that await returns. The next call continues a stop that was cut short, with the rest of the
// grace period.
func (t *target) stop(ctx context.Context, await func() (context.Context, error)) error {
	if t.created {
		if err := t.removeCreatedContainer(ctx, t.id); !errors.Is(err, runtime.ErrWrongState) {
			return because(podstatus.ReasonKillContainerError, err)
		}
		// A start of an earlier agent has reached the runtime: the container runs, or is about to.
	}
	t.recordEvent(t.name, eventKilling, "Stopping container %s: %s", t.name, t.why)
	return t.runAction(ctx, Result{Action: KillContainer, Target: t.name, Why: t.why}, func() error {
		t.touched.Store(true)
		return because(podstatus.ReasonKillContainerError, t.stopAfterPreStop(ctx, func() error {
			ctx, err := await()
			if err != nil {
				return err
			}
			return t.sendStop(ctx)
		}))
	})
}

// sendStop sends StopContainer with the rest of the grace period. A container that the runtime does not
// know has stopped (KC-14).
func (t *target) sendStop(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // The stops before it were cut short: its turn has not come.
	}
	left := max(t.planned.By.Sub(t.executor.Now()), minimumGrace)
	if t.planned.NotConfirmed {
		left = 0 // The runtime reported it as stopped before, and it runs.
	}
	err := t.callWithTimeout(ctx, left+t.cfg.CallTimeout, func(ctx context.Context) error {
		return t.cfg.Runtime.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: t.id, Grace: left})
	})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// stopSandboxes stops sandboxes of a pod.
func (p *syncPass) stopSandboxes(ctx context.Context, ids []string, why string) error {
	errs := make([]error, len(ids))
	branches := executor.WithBranches(ctx, len(ids))
	executor.Each(p.executor, 0, len(ids), func(i int) {
		ctx := branches[i]
		errs[i] = p.runAction(ctx, Result{Action: KillPodSandbox, Target: ids[i], Why: why}, func() error {
			p.touched.Store(true)
			err := p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) error {
				return p.cfg.Runtime.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: ids[i]})
			})
			if errors.Is(err, runtime.ErrNotFound) {
				return nil
			}
			return because(podstatus.ReasonKillPodSandboxError, err)
		})
	})
	return errors.Join(errs...)
}

// confirmStopped inspects the pod. It returns an error if one of the stopped containers runs. If
// nothingLeft is true it also returns one if another container runs or a sandbox is ready: two ready
// sandboxes would cost the next incarnation its containers. A stopped container that runs gets no grace
// period next time.
func (p *syncPass) confirmStopped(ctx context.Context, stopped []target, nothingLeft bool) error {
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot see whether the pod has stopped: %w", err)
	}
	p.after = status
	var running []string
	var changed []plan.Stop
	for i := range status.Containers {
		c := &status.Containers[i]
		if c.State == runtime.StateExited {
			if stop := p.incarnation.memory.Stop(c.ID); stop.NotConfirmed {
				stop.NotConfirmed = false
				changed = append(changed, stop)
			}
		}
		lied := among(stopped, c.ID)
		if c.State != runtime.StateRunning || !lied && !nothingLeft {
			continue
		}
		running = append(running, c.Name)
		if lied {
			stop := p.incarnation.memory.Stop(c.ID)
			stop.NotConfirmed = true
			changed = append(changed, stop)
		}
	}
	p.incarnation.memory = p.incarnation.memory.WithStops(changed...)
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
