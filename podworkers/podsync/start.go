package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// podStarter creates sandboxes and starts containers of one pod in a pass. It stops a container whose
// PostStart hook fails.
type podStarter struct {
	*statusWriter
	killer *podKiller
	// reasonsChanged is true if a container waits for another reason than the published one.
	reasonsChanged bool
	// volumeImages are the images of the pod's image volumes. They are set before the first container is
	// started.
	volumeImages map[string]volumeImage
	pulls        pulls
}

// containerStart is the start of one container in a sync pass. SandboxID is set.
type containerStart struct {
	*podStarter
	*plan.Held
}

// start creates and starts the container, unless its crash loop holds it. The error has the reason why
// the container waits, and the time of the next attempt.
func (st *containerStart) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := st.Container
	if !st.Until.IsZero() && st.Reason.Replaces() {
		// It was stopped a moment ago. Its delay begins at the exit that the next status shows.
		err := fmt.Errorf("back-off restarting stopped container=%s pod=%s(%s)", c.Name, podmanager.FullName(st.pod), st.pod.UID)
		return podworkers.RetryAfter(because(podstatus.ReasonCrashLoopBackOff, err), st.Until)
	}
	if !st.Until.IsZero() {
		err := st.heldError()
		st.noteWaitingReason(c.Name, err)
		return err
	}
	err := st.runAction(ctx, Result{Action: StartContainer, Target: c.Name, Why: string(st.Reason)}, func() error {
		return st.createAndStart(ctx)
	})
	if !isCancelled(ctx, err) {
		st.noteWaitingReason(c.Name, err)
	}
	return err
}

// heldError returns the error of a container that waits for its next restart, and records an event once
// for each wait.
func (st *containerStart) heldError() error {
	name := st.Container.Name
	if !st.incarnation.reported.backOffs[name].Equal(st.Until) {
		st.recordWarning(name, eventBackOff, "Back-off restarting failed container %s in pod %s, next try in %s",
			name, podmanager.FullName(st.pod), roundUpToSecond(st.Until.Sub(st.executor.Now())))
		if st.incarnation.reported.backOffs == nil {
			st.incarnation.reported.backOffs = make(map[string]time.Time)
		}
		st.incarnation.reported.backOffs[name] = st.Until
	}
	st.cfg.Hooks.RestartDelayed(RestartDelay{st.pod.UID, name, st.Until})
	err := fmt.Errorf("back-off %s restarting failed container=%s pod=%s(%s), next try at %s",
		st.Delay, name, podmanager.FullName(st.pod), st.pod.UID, formatAttemptTime(st.Until))
	return podworkers.RetryAt(because(podstatus.ReasonCrashLoopBackOff, err), st.Until)
}

// roundUpToSecond rounds a wait up for messages: the wait is never longer than the message says.
func roundUpToSecond(d time.Duration) time.Duration {
	return (max(d, 0) + time.Second - 1).Truncate(time.Second)
}

// formatAttemptTime formats the time of an attempt for messages. The attempt is made within the second
// before that time. The text is the same in each sync of a container that waits, so that the status
// of the container does not change.
func formatAttemptTime(at time.Time) string {
	return at.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// createAndStart pulls the image, creates the container and starts it. It starts a container that an
// earlier call has created as it would be created now.
func (st *containerStart) createAndStart(ctx context.Context) error {
	c := st.Container
	if rec := st.reusableRecord(); rec != nil {
		st.Attempt = rec.Attempt
		st.noteAttempt()
		st.note(plan.StageCreating, "")
		return st.startCreated(ctx, rec.ID, rec.Attempt)
	}
	if err := st.removeCreatedContainers(ctx, st.Created); err != nil {
		err = because(podstatus.ReasonCreateContainerError, fmt.Errorf("an earlier record is in the way: %w", err))
		if errors.Is(err, runtime.ErrWrongState) {
			return podworkers.RetryAfter(err, st.executor.Now()) // A late call has started it: the next status shows that.
		}
		return err
	}
	st.noteAttempt()
	if err := st.ensureVolumeImages(ctx); err != nil {
		return err
	}
	image, err := st.image().ensure(ctx)
	if err != nil {
		return err
	}
	defer image.release()
	st.skipLoggedAttempts()
	req, err := st.containerRequest(ctx, image)
	switch {
	case isCancelled(ctx, err):
		return err
	case err != nil:
		wrong := because(podstatus.ReasonCreateContainerConfigError, err)
		if st.isNewReason(c.Name, wrong) {
			st.recordFailed(c.Name, err)
		}
		return wrong
	}
	st.note(plan.StageCreating, "")
	id, err := st.createContainer(ctx, req)
	image.release() // From here on the container keeps the image.
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // SyncTerminatingPod removes the container.
	}
	return st.startCreated(ctx, id, req.Attempt)
}

// startCreated starts a container that was created, and runs its PostStart hook.
func (st *containerStart) startCreated(ctx context.Context, id string, attempt uint32) error {
	if err := st.startContainer(ctx, id); err != nil {
		if plan.ProvesNotStarted(err) {
			st.note(plan.StageNotStarted, id)
		}
		return err
	}
	st.linkLog(st.Name, id, attempt)
	return st.runPostStart(ctx, id)
}

// linkLog creates a link to the log of a container that runs, if Config.Logs is a LogLinker.
func (p *podStarter) linkLog(container, id string, attempt uint32) {
	linker, ok := p.cfg.Logs.(LogLinker)
	if !ok {
		return
	}
	if err := linker.Link(p.podRef(), container, id, attempt); err != nil {
		p.cfg.Log.Warn("there is no link to the log of a container", "pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "container", container, "err", err)
	}
}

// reusableRecord returns the record of a created container that is started instead of a new one, or
// nil. It is not removed for a new one: the runtime refuses the start if the call of an earlier agent
// has started the container, but it would remove a container that has run.
func (st *containerStart) reusableRecord() *runtime.ContainerStatus {
	if rec := st.containerRecord(st.Reuse); rec != nil && rec.State == runtime.StateCreated {
		return rec
	}
	return nil
}

// skipLoggedAttempts sets the attempt after the newest one that has a log, if neither records nor a
// status show an attempt. A runtime may have lost its state, and a number is not used twice (KC-2).
func (st *containerStart) skipLoggedAttempts() {
	if st.cfg.Logs == nil || st.Attempt > 0 {
		return
	}
	next, err := st.cfg.Logs.NextAttempt(st.podRef(), st.Container.Name)
	if err != nil {
		st.cfg.Log.Warn("the logs of a container do not tell how often it ran", "pod", podmanager.FullName(st.pod), "uid", st.pod.UID, "container", st.Container.Name, "err", err)
		return
	}
	st.Attempt = next
}

// removeCreatedContainers removes containers that were created and never ran, and inspects the pod. It
// returns an error if one is still there: its start may be under way, and another must not follow.
func (p *podStarter) removeCreatedContainers(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if err := p.removeCreatedContainer(ctx, id); err != nil {
			return err
		}
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return err
	}
	for i := range status.Containers {
		if c := &status.Containers[i]; slices.Contains(ids, c.ID) {
			return fmt.Errorf("container %s was removed and is still there, %s", c.Name, c.State)
		}
	}
	return nil
}

// createContainer sends the request and records the events of its result.
func (st *containerStart) createContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	err = st.callUncancelled(ctx, func(ctx context.Context) (err error) {
		id, err = st.cfg.Runtime.CreateContainer(ctx, req)
		return err
	})
	if errors.Is(err, runtime.ErrUnsupported) && req.PIDTarget != "" {
		return st.createWithoutPIDTarget(ctx, req)
	}
	if err != nil {
		st.recordFailed(req.Name, err)
		return "", st.retryIfDone(ctx, because(podstatus.ReasonCreateContainerError, err), func(c *runtime.ContainerStatus) bool {
			return c.Name == req.Name && c.SandboxID == req.SandboxID && c.Attempt == req.Attempt
		}, nil)
	}
	st.recordEvent(req.Name, eventCreated, "Container %s created", req.Name)
	return id, nil
}

// createWithoutPIDTarget creates the container on a runtime that cannot share the processes of another
// container. A debugger without them is better than none.
func (st *containerStart) createWithoutPIDTarget(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	req.PIDTarget = ""
	if id, err = st.createContainer(ctx, req); err == nil {
		st.recordWarning(req.Name, eventIgnoredField, "without effect on this runtime: targetContainerName: the processes of container %s are not shown", request.PIDTarget(st.pod, req.Name))
	}
	return id, err
}

// retryIfDone returns the error of a failed creation. The reply may be lost and the creation done: then
// the error asks for a retry at once, which uses the container or the sandbox.
func (p *podStarter) retryIfDone(ctx context.Context, err error, container func(*runtime.ContainerStatus) bool, sandbox func(*runtime.SandboxStatus) bool) error {
	if ctx.Err() != nil || errors.Is(err, runtime.ErrExists) || errors.Is(err, runtime.ErrNotReady) || errors.Is(err, runtime.ErrNetworkNotReady) {
		return err // The caller handles each of these.
	}
	status, failed := p.inspectPod(ctx, p.pod.UID)
	if failed != nil {
		return err
	}
	for i := range status.Containers {
		if container != nil && container(&status.Containers[i]) {
			return podworkers.RetryAfter(err, p.executor.Now())
		}
	}
	for i := range status.Sandboxes {
		if sandbox != nil && sandbox(&status.Sandboxes[i]) {
			return podworkers.RetryAfter(err, p.executor.Now())
		}
	}
	return err
}

// noteAttempt notes that the start is attempted: the crash loop counts it.
func (st *containerStart) noteAttempt() {
	st.incarnation.memory = st.incarnation.memory.RecordAttempt(st.Step, st.executor.Now())
}

// note notes how far the start has come.
func (st *containerStart) note(stage plan.Stage, id string) {
	st.incarnation.memory = st.incarnation.memory.RecordStage(st.Step, stage, id, st.executor.Now())
}

// startContainer sends StartContainer and notes the result in the memory of the pod.
func (st *containerStart) startContainer(ctx context.Context, id string) error {
	name := st.Name
	st.note(plan.StageCreated, id)
	err := st.callUncancelled(ctx, func(ctx context.Context) error {
		return st.cfg.Runtime.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})
	})
	switch {
	case err == nil:
	case errors.Is(err, runtime.ErrExists), errors.Is(err, runtime.ErrWrongState):
		// The container is being started, has run, or its sandbox is gone.
		st.note(plan.StageRefused, "")
		return podworkers.RetryAfter(because(podstatus.ReasonRunContainerError, err), st.executor.Now())
	default:
		if !errors.Is(err, runtime.ErrNotReady) && !errors.Is(err, context.DeadlineExceeded) {
			st.note(plan.StageFailed, "")
		}
		st.recordFailed(name, err)
		return because(podstatus.ReasonRunContainerError, err)
	}
	st.recordEvent(name, eventStarted, "Container %s started", name)
	return nil
}

// recordFailed records an event with the error of a container that was not started.
func (p *podStarter) recordFailed(container string, err error) {
	p.recordWarning(container, eventFailed, "Error: %v", err)
}

// removeContainer removes a container that does not run.
func (p *syncPass) removeContainer(ctx context.Context, id, why string) error {
	return p.removeRecord(ctx, runtime.RemoveContainerRequest{ContainerID: id}, why)
}

// removeCreatedContainer removes a container whose newest status is Created. The runtime keeps it if a
// late start of an earlier agent has started it, so that the container does not run twice.
func (p *syncPass) removeCreatedContainer(ctx context.Context, id string) error {
	err := p.removeRecord(ctx, runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true}, "never ran")
	if rec := p.containerRecord(id); err == nil && rec != nil {
		p.mu.Lock() // Stops remove containers in parallel.
		defer p.mu.Unlock()
		step := plan.Step{Op: plan.StartContainer, Name: rec.Name}
		p.incarnation.memory = p.incarnation.memory.RecordStage(step, plan.StageNotStarted, id, p.executor.Now())
	}
	return err
}

// removeRecord sends RemoveContainer.
func (p *syncPass) removeRecord(ctx context.Context, req runtime.RemoveContainerRequest, why string) error {
	return p.runAction(ctx, Result{Action: RemoveContainer, Target: req.ContainerID, Why: why}, func() error {
		return p.callUncancelled(ctx, func(ctx context.Context) error { return p.cfg.Runtime.RemoveContainer(ctx, req) })
	})
}

// removeSandbox removes a sandbox in which nothing runs.
func (p *syncPass) removeSandbox(ctx context.Context, id, why string) error {
	return p.runAction(ctx, Result{Action: RemovePodSandbox, Target: id, Why: why}, func() error {
		return p.callUncancelled(ctx, func(ctx context.Context) error {
			return p.cfg.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
		})
	})
}
