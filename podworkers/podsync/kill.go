package podsync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// podKiller stops containers and sandboxes of one pod in a sync. It is a statusWriter because it saves
// which containers it stops for a restart.
type podKiller struct {
	*statusWriter
	runtimeOnly     bool               // only the runtime has the pod: pod has neither a spec nor a deletion
	statusAfterKill *runtime.PodStatus // the observed status after the last stop was confirmed
}

// newPodKiller returns a podKiller, which stops the containers and sandboxes of one pod in one sync.
func (s *Syncer) newPodKiller(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *podKiller {
	return &podKiller{statusWriter: s.newStatusWriterAndConsumeSavedStates(ctx, pod, status)}
}

// stopTarget is one container to stop in a sync.
type stopTarget struct {
	*podKiller
	id, name string
	reason   string
	created  bool // its status is Created: it is removed, so that a delayed start does not find it
	request.StopInfo
	// stop has the deadline, and whether the preStop hook has begun. After newStopTarget only the
	// goroutine that runs stopContainer changes it. storeStopsInMemory stores it in the memory of the pod.
	stop plan.Stop
}

// newStopTarget returns the stopTarget of a container with the deadline of its stop: now plus the effective
// grace period, or the deadline of a stop that has already begun, whichever is earlier. It stops nothing.
func (k *podKiller) newStopTarget(id, name, why string, grace lifecycle.ContainerGrace) stopTarget {
	rec := k.containerRecord(id)
	t := stopTarget{podKiller: k, id: id, name: name, reason: why, StopInfo: request.StopInfoOf(k.pod, k.incarnation.number, name, rec)}
	t.created = rec != nil && rec.State == runtime.StateCreated
	t.stop = k.incarnation.memory.Stop(id).Within(k.executor.Now().Add(k.effectiveGrace(grace, t.StopInfo).Duration()))
	return t
}

// killPod stops every container and then every sandbox of the pod's UID, including containers and sandboxes of
// former pods. It confirms with the runtime that they have stopped. override, if set, replaces the grace
// period. The error has a retry time, except after a cancellation, and the next call continues the stop.
func (k *podKiller) killPod(ctx context.Context, override lifecycle.Grace, why string) error {
	return k.recordKillResultAndDelayRetry(ctx, k.stopContainersAndSandboxes(ctx, override, why))
}

// stopContainersAndSandboxes stops every container and then every sandbox of the pod, and confirms with the
// runtime that they have stopped. If a container could not be stopped, it still stops the sandboxes, but
// returns the error without the confirmation.
func (k *podKiller) stopContainersAndSandboxes(ctx context.Context, override lifecycle.Grace, why string) error {
	var targets []stopTarget
	for i := range k.status.Containers {
		if c := &k.status.Containers[i]; c.State != runtime.StateExited {
			targets = append(targets, k.newStopTarget(c.ID, c.Name, why, lifecycle.ContainerGrace{Override: override}))
		}
	}
	err := k.stopContainers(ctx, targets, true)
	if isCancelled(ctx, err) {
		return err
	}
	sandboxes := make([]string, len(k.status.Sandboxes))
	for i := range sandboxes {
		sandboxes[i] = k.status.Sandboxes[i].ID
	}
	err = errors.Join(err, k.stopSandboxes(ctx, sandboxes, ""))
	if err != nil {
		return err
	}
	return k.inspectAndConfirmStopped(ctx, targets, true)
}

// killContainers stops the containers of the steps at the same time, and confirms with the runtime that they
// have stopped. Before the stops it stores which containers are stopped for their next attempt. The error has a
// retry time, except after a cancellation. Without steps it does nothing and returns nil (TO-8).
func (k *podKiller) killContainers(ctx context.Context, steps []plan.Step) error {
	if len(steps) == 0 {
		return nil
	}
	targets := make([]stopTarget, len(steps))
	for i, step := range steps {
		if step.Replaces {
			k.recordAndSaveStopForNextAttempt(step.Name, step.ID)
		}
		targets[i] = k.newStopTarget(step.ID, step.Name, string(step.Reason), lifecycle.ContainerGrace{Container: lifecycle.GraceFromAPI(step.Grace)})
	}
	err := k.stopContainers(ctx, targets, false)
	if err == nil {
		err = k.inspectAndConfirmStopped(ctx, targets, false)
	}
	return k.recordKillResultAndDelayRetry(ctx, err)
}

// stopContainers stops containers at the same time, each within its grace period, and stores the progress of
// the stops in the memory of the pod. If wholePod is true, sidecars stop after the other containers. A failed
// stop does not block the others (TO-1, TO-2). Before the stops it reads the counters of killed processes (OM-5).
func (k *podKiller) stopContainers(ctx context.Context, targets []stopTarget, wholePod bool) error {
	if len(targets) > 0 && !k.runtimeOnly {
		k.readOOM() // The runtime removes the cgroup of a container when it exits, and its counters with it.
	}
	errs := make([]error, len(targets))
	q := newStopQueue(k.executor, targets, wholePod)
	k.storeStopsInMemory(targets)
	podworkers.WithoutSlot(ctx, func() { // Waiting needs no slot of the workers.
		branches := executor.WithBranches(ctx, len(targets))
		executor.Each(k.executor, 0, len(targets), func(i int) {
			defer q.stopped[i].Open()
			errs[i] = targets[i].stopContainer(branches[i], func() (context.Context, error) { return k.waitForTurn(branches[i], q, i, targets[i].stop.By) })
		})
	})
	k.storeStopsInMemory(targets)
	return errors.Join(errs...)
}

// storeStopsInMemory stores the deadline and the hook state of each stop in the memory of the pod, so that the
// next sync continues the stops.
func (k *podKiller) storeStopsInMemory(targets []stopTarget) {
	stops := make([]plan.Stop, len(targets))
	for i := range targets {
		stops[i] = targets[i].stop
	}
	k.incarnation.memory = k.incarnation.memory.WithStops(stops...)
}

// stopContainer records the event Killing, runs the preStop hook of the container, waits with waitForTurn, and
// sends StopContainer to the runtime. A container that was created and never started is removed instead,
// without the event and the hook.
func (t *stopTarget) stopContainer(ctx context.Context, waitForTurn func() (context.Context, error)) error {
	if t.created {
		if err := t.removeCreatedContainer(ctx, t.id); !errors.Is(err, runtime.ErrWrongState) {
			return withWaitingReason(podstatus.ReasonKillContainerError, err)
		}
		// A delayed call of an earlier process has started the container.
	}
	t.recordEvent(t.name, eventKilling, "Stopping container %s: %s", t.name, t.reason)
	return t.runActionAndReport(ctx, Result{Action: KillContainer, Target: t.name, Why: t.reason}, func() error {
		t.mayHaveChanged.Store(true)
		return withWaitingReason(podstatus.ReasonKillContainerError, t.runPreStopAndStop(ctx, func() error {
			ctx, err := waitForTurn()
			if err != nil {
				return err
			}
			return t.sendStopContainer(ctx)
		}))
	})
}

// sendStopContainer sends StopContainer with the rest of the grace period, at least minGracePeriod. The grace
// period is 0 if the container still runs after an earlier stop without error. A container that the runtime
// does not have counts as stopped (KC-14).
func (t *stopTarget) sendStopContainer(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // The stops of earlier targets were cut short.
	}
	left := max(t.stop.By.Sub(t.executor.Now()), minGracePeriod)
	if t.stop.NotConfirmed {
		left = 0 // The runtime reported the container as stopped, and it still runs.
	}
	err := t.callWithTimeout(ctx, left+t.cfg.CallTimeout, func(ctx context.Context) error {
		return t.cfg.Runtime.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: t.id, Grace: left})
	})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// stopSandboxes sends StopSandbox for the sandboxes at the same time and returns the errors joined. A sandbox
// that the runtime does not have counts as stopped.
func (k *podKiller) stopSandboxes(ctx context.Context, ids []string, why string) error {
	errs := make([]error, len(ids))
	branches := executor.WithBranches(ctx, len(ids))
	executor.Each(k.executor, 0, len(ids), func(i int) {
		ctx := branches[i]
		errs[i] = k.runActionAndReport(ctx, Result{Action: KillPodSandbox, Target: ids[i], Why: why}, func() error {
			k.mayHaveChanged.Store(true)
			err := k.callWithTimeout(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {
				return k.cfg.Runtime.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: ids[i]})
			})
			if errors.Is(err, runtime.ErrNotFound) {
				return nil
			}
			return withWaitingReason(podstatus.ReasonKillPodSandboxError, err)
		})
	})
	return errors.Join(errs...)
}

// inspectAndConfirmStopped inspects the pod, stores the runtime status in statusAfterKill, and returns an error
// if a container in stopped still runs. The next stop of such a container has no grace period. If wholePod is
// true, any other running container and any ready sandbox is an error too.
func (k *podKiller) inspectAndConfirmStopped(ctx context.Context, stopped []stopTarget, wholePod bool) error {
	status, err := k.inspectPod(ctx, k.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot confirm that the pod has stopped: %w", err)
	}
	k.statusAfterKill = status
	var running []string
	var changed []plan.Stop
	for i := range status.Containers {
		c := &status.Containers[i]
		if c.State == runtime.StateExited {
			if stop := k.incarnation.memory.Stop(c.ID); stop.NotConfirmed {
				stop.NotConfirmed = false
				changed = append(changed, stop)
			}
		}
		wasStopped := isTargetID(stopped, c.ID)
		if c.State != runtime.StateRunning || !wasStopped && !wholePod {
			continue
		}
		running = append(running, c.Name)
		if wasStopped {
			stop := k.incarnation.memory.Stop(c.ID)
			stop.NotConfirmed = true
			changed = append(changed, stop)
		}
	}
	k.incarnation.memory = k.incarnation.memory.WithStops(changed...)
	if len(running) > 0 {
		return withWaitingReason(podstatus.ReasonKillContainerError, fmt.Errorf("still running: %s", strings.Join(running, ", ")))
	}
	if ready := readySandboxIDs(status); wholePod && len(ready) > 0 {
		return withWaitingReason(podstatus.ReasonKillPodSandboxError, fmt.Errorf("sandboxes are still ready: %s", strings.Join(ready, ", ")))
	}
	return nil
}

// readySandboxIDs returns the IDs of the ready sandboxes in a status.
func readySandboxIDs(status *runtime.PodStatus) []string {
	var ready []string
	for i := range status.Sandboxes {
		if status.Sandboxes[i].Ready {
			ready = append(ready, status.Sandboxes[i].ID)
		}
	}
	return ready
}

// isTargetID reports whether one of the targets has the container ID.
func isTargetID(targets []stopTarget, id string) bool {
	for i := range targets {
		if targets[i].id == id {
			return true
		}
	}
	return false
}
