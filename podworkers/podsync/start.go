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

// podStarter creates sandboxes and starts containers of one pod in a sync. It also stops a container
// whose PostStart hook fails.
type podStarter struct {
	*statusWriter
	killer *podKiller
	// reasonsChanged is true if a container waits for another reason than the published one.
	reasonsChanged bool
	// volumeImages are the images of the pod's image volumes. They are set before the first container is
	// started.
	volumeImages map[string]volumeImage
	pullProblems pullProblems
	cgroupDir    string // the directory of the pod's cgroup; empty: the runtime chooses
}

// containerStart is the start of one container in a sync. Its SandboxID is set.
type containerStart struct {
	*podStarter
	*plan.Held
}

// startUnlessDelayed pulls the image, and creates and starts the container. If the crash-loop delay of the
// container is not over, it starts nothing and returns a CrashLoopBackOff error with the time of the next
// attempt. It stores the waiting reason of the result, except after a cancellation and during a stop for the
// next attempt.
func (st *containerStart) startUnlessDelayed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := st.Container
	if !st.Until.IsZero() && st.Reason.StopsForNextAttempt() {
		// The container stops in this sync. The delay counts from its exit, which only the next status shows.
		err := fmt.Errorf("back-off restarting stopped container=%s pod=%s(%s)", c.Name, podmanager.FullName(st.pod), st.pod.UID)
		return podworkers.RetryAfter(withWaitingReason(podstatus.ReasonCrashLoopBackOff, err), st.Until)
	}
	if !st.Until.IsZero() {
		err := st.reportBackOffAndReturnRetryError()
		st.setWaitingReason(c.Name, err)
		return err
	}
	err := st.runActionAndReport(ctx, Result{Action: StartContainer, Target: c.Name, Why: string(st.Reason)}, func() error {
		return st.pullCreateAndStart(ctx)
	})
	if !isCancelled(ctx, err) {
		st.setWaitingReason(c.Name, err)
	}
	return err
}

// reportBackOffAndReturnRetryError returns the CrashLoopBackOff error of a container, with the time of the next
// attempt. It records the event BackOff once for each delay, and calls Hooks.RestartDelayed each time.
func (st *containerStart) reportBackOffAndReturnRetryError() error {
	name := st.Container.Name
	if !st.incarnation.recordedEvents.backOffs[name].Equal(st.Until) {
		st.recordWarning(name, eventBackOff, "Back-off restarting failed container %s in pod %s, next try in %s",
			name, podmanager.FullName(st.pod), roundUpToSecond(st.Until.Sub(st.executor.Now())))
		if st.incarnation.recordedEvents.backOffs == nil {
			st.incarnation.recordedEvents.backOffs = make(map[string]time.Time)
		}
		st.incarnation.recordedEvents.backOffs[name] = st.Until
	}
	st.cfg.Hooks.RestartDelayed(RestartDelay{st.pod.UID, name, st.Until})
	err := fmt.Errorf("back-off %s restarting failed container=%s pod=%s(%s), next try at %s",
		st.Delay, name, podmanager.FullName(st.pod), st.pod.UID, formatAttemptTime(st.Until))
	return podworkers.RetryAt(withWaitingReason(podstatus.ReasonCrashLoopBackOff, err), st.Until)
}

// roundUpToSecond rounds a delay up to full seconds, so that the real delay is never longer than a message
// says. A negative delay becomes 0.
func roundUpToSecond(d time.Duration) time.Duration {
	return (max(d, 0) + time.Second - 1).Truncate(time.Second)
}

// formatAttemptTime returns the time of an attempt as RFC 3339 text in UTC, rounded up to the second. The text
// does not change between syncs, so the status of a waiting container does not change.
func formatAttemptTime(at time.Time) string {
	return at.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// pullCreateAndStart starts the container and runs its postStart hook. If the decision chose a container that
// was created earlier, it starts that container. In any other case it removes containers that were created and
// never started, pulls the images and creates a new container.
func (st *containerStart) pullCreateAndStart(ctx context.Context) error {
	c := st.Container
	if rec := st.createdContainerToReuse(); rec != nil {
		st.Attempt = rec.Attempt
		st.recordAttemptAndAdvanceBackOff()
		st.recordStage(plan.StageCreating, "")
		return st.startCreatedAndRunPostStart(ctx, rec.ID, rec.Attempt)
	}
	if err := st.removeCreatedContainersAndConfirm(ctx, st.Created); err != nil {
		err = withWaitingReason(podstatus.ReasonCreateContainerError, fmt.Errorf("cannot remove an earlier record: %w", err))
		if errors.Is(err, runtime.ErrWrongState) {
			return podworkers.RetryAfter(err, st.executor.Now()) // A delayed call has started it. The next status shows that.
		}
		return err
	}
	st.recordAttemptAndAdvanceBackOff()
	if err := st.pullVolumeImagesOnceAndReturnOwnError(ctx); err != nil {
		return err
	}
	image, err := st.imageOfContainer().ensurePresentAndLease(ctx)
	if err != nil {
		return err
	}
	defer image.release()
	st.setAttemptFromLogsIfZero()
	req, err := st.buildContainerRequest(ctx, image)
	switch {
	case isCancelled(ctx, err):
		return err
	case err != nil:
		wrong := withWaitingReason(podstatus.ReasonCreateContainerConfigError, err)
		if st.isNewWaitingReason(c.Name, wrong) {
			st.recordFailedEvent(c.Name, err)
		}
		return wrong
	}
	st.recordStage(plan.StageCreating, "")
	id, err := st.createContainer(ctx, req)
	image.release() // From here on the container keeps the image.
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // SyncTerminatingPod removes the container.
	}
	return st.startCreatedAndRunPostStart(ctx, id, req.Attempt)
}

// startCreatedAndRunPostStart starts a created container, links its log and runs its postStart hook. If the
// error proves that the container did not start, it stores that in the memory of the pod.
func (st *containerStart) startCreatedAndRunPostStart(ctx context.Context, containerID string, attempt uint32) error {
	if err := st.startContainer(ctx, containerID); err != nil {
		if plan.ProvesNotStarted(err) {
			st.recordStage(plan.StageNotStarted, containerID)
		}
		return err
	}
	st.linkContainerLog(st.Name, containerID, attempt)
	return st.runPostStart(ctx, containerID)
}

// linkContainerLog creates a symbolic link to the log of a container if Config.Logs is a LogLinker. It only
// logs a failure.
func (p *podStarter) linkContainerLog(container, id string, attempt uint32) {
	linker, ok := p.cfg.Logs.(LogLinker)
	if !ok {
		return
	}
	if err := linker.Link(p.runtimePodRef(), container, id, attempt); err != nil {
		p.cfg.Log.Warn("cannot link the log of a container", "pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "container", container, "err", err)
	}
}

// createdContainerToReuse returns the created container that the decision chose to start instead of a new one,
// or nil. It is not removed, because a delayed call may have started it, and then a removal would delete a
// container that has run.
func (st *containerStart) createdContainerToReuse() *runtime.ContainerStatus {
	if rec := st.containerRecord(st.Reuse); rec != nil && rec.State == runtime.StateCreated {
		return rec
	}
	return nil
}

// setAttemptFromLogsIfZero changes an attempt of 0 to the next number after the newest log of the container. A
// runtime that has forgotten the earlier attempts therefore does not write two attempts into one log. It does
// nothing without Config.Logs. It only logs a failure (KC-2).
func (st *containerStart) setAttemptFromLogsIfZero() {
	if st.cfg.Logs == nil || st.Attempt > 0 {
		return
	}
	next, err := st.cfg.Logs.NextAttempt(st.runtimePodRef(), st.Container.Name)
	if err != nil {
		st.cfg.Log.Warn("cannot read the newest attempt from the logs of a container", "pod", podmanager.FullName(st.pod), "uid", st.pod.UID, "container", st.Container.Name, "err", err)
		return
	}
	st.Attempt = next
}

// removeCreatedContainersAndConfirm removes containers that were created and never ran, and confirms that with
// the runtime. It returns an error if the runtime still has one of them, because that container may be
// starting. Without ids it does nothing.
func (p *podStarter) removeCreatedContainersAndConfirm(ctx context.Context, ids []string) error {
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
			return fmt.Errorf("container %s was removed and the runtime still has it, %s", c.Name, c.State)
		}
	}
	return nil
}

// createContainer creates a container in the runtime and records the event Created or Failed. If the runtime
// does not support the process namespace of another container, it creates the container without that namespace.
// If the call fails and the container exists all the same, the error asks for an immediate retry.
func (st *containerStart) createContainer(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	err = st.callRuntimeUncancelled(ctx, func(ctx context.Context) (err error) {
		id, err = st.cfg.Runtime.CreateContainer(ctx, req)
		return err
	})
	if errors.Is(err, runtime.ErrUnsupported) && req.PIDTarget != "" {
		return st.createWithoutPIDTarget(ctx, req)
	}
	if err != nil {
		st.recordFailedEvent(req.Name, err)
		return "", st.addRetryNowIfCreated(ctx, withWaitingReason(podstatus.ReasonCreateContainerError, err), func(c *runtime.ContainerStatus) bool {
			return c.Name == req.Name && c.SandboxID == req.SandboxID && c.Attempt == req.Attempt
		}, nil)
	}
	st.recordEvent(req.Name, eventCreated, "Container %s created", req.Name)
	return id, nil
}

// createWithoutPIDTarget creates the container without the process namespace of its target container. After a
// success it records a Warning event about the missing namespace.
func (st *containerStart) createWithoutPIDTarget(ctx context.Context, req runtime.CreateContainerRequest) (id string, err error) {
	req.PIDTarget = ""
	if id, err = st.createContainer(ctx, req); err == nil {
		st.recordWarning(req.Name, eventIgnoredField, "without effect on this runtime: targetContainerName: the processes of container %s are not shown", request.PIDTargetContainer(st.pod, req.Name))
	}
	return id, err
}

// addRetryNowIfCreated inspects the pod after a failed creation. If a matching container or sandbox exists, the
// runtime has created it and only its reply did not arrive. It then returns err with a request for an immediate
// retry. In all other cases, also after a failed inspection, it returns err unchanged.
func (p *podStarter) addRetryNowIfCreated(ctx context.Context, err error, isContainer func(*runtime.ContainerStatus) bool, isSandbox func(*runtime.SandboxStatus) bool) error {
	if ctx.Err() != nil || errors.Is(err, runtime.ErrExists) || errors.Is(err, runtime.ErrNotReady) || errors.Is(err, runtime.ErrNetworkNotReady) {
		return err // The caller handles each of these.
	}
	status, failed := p.inspectPod(ctx, p.pod.UID)
	if failed != nil {
		return err
	}
	for i := range status.Containers {
		if isContainer != nil && isContainer(&status.Containers[i]) {
			return podworkers.RetryAfter(err, p.executor.Now())
		}
	}
	for i := range status.Sandboxes {
		if isSandbox != nil && isSandbox(&status.Sandboxes[i]) {
			return podworkers.RetryAfter(err, p.executor.Now())
		}
	}
	return err
}

// recordAttemptAndAdvanceBackOff stores the attempt to start the container in the memory of the pod. It
// advances the crash-loop back-off of the container.
func (st *containerStart) recordAttemptAndAdvanceBackOff() {
	st.incarnation.memory = st.incarnation.memory.RecordAttempt(st.Step, st.executor.Now())
}

// recordStage stores in the memory of the pod how far the start of the container is.
func (st *containerStart) recordStage(stage plan.Stage, id string) {
	st.incarnation.memory = st.incarnation.memory.RecordStage(st.Step, stage, id, st.executor.Now())
}

// startContainer starts a created container, stores the result in the memory of the pod, and records the event
// Started or Failed. If the runtime refuses the start because the container is already starting, has run or has
// lost its sandbox, it records no event, and the error asks for an immediate retry.
func (st *containerStart) startContainer(ctx context.Context, id string) error {
	name := st.Name
	st.recordStage(plan.StageCreated, id)
	err := st.callRuntimeUncancelled(ctx, func(ctx context.Context) error {
		return st.cfg.Runtime.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})
	})
	switch {
	case err == nil:
	case errors.Is(err, runtime.ErrExists), errors.Is(err, runtime.ErrWrongState):
		// The container is starting, or has run, or its sandbox does not exist.
		st.recordStage(plan.StageRefused, "")
		return podworkers.RetryAfter(withWaitingReason(podstatus.ReasonRunContainerError, err), st.executor.Now())
	default:
		if !errors.Is(err, runtime.ErrNotReady) && !errors.Is(err, context.DeadlineExceeded) {
			st.recordStage(plan.StageFailed, "")
		}
		st.recordFailedEvent(name, err)
		return withWaitingReason(podstatus.ReasonRunContainerError, err)
	}
	st.recordEvent(name, eventStarted, "Container %s started", name)
	return nil
}

// recordFailedEvent records the Warning event Failed for a container, with the text of err.
func (p *podStarter) recordFailedEvent(container string, err error) {
	p.recordWarning(container, eventFailed, "Error: %v", err)
}

// removeContainer removes a container that does not run from the runtime, and reports the result to
// Hooks.ActionDone.
func (p *syncPass) removeContainer(ctx context.Context, id, why string) error {
	return p.sendRemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id}, why)
}

// removeCreatedContainer removes a container that was created and not started, and stores that in the memory of
// the pod. If a delayed call has started the container meanwhile, the runtime keeps it and returns an error. So
// the container does not run twice.
func (p *syncPass) removeCreatedContainer(ctx context.Context, id string) error {
	err := p.sendRemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true}, "never ran")
	if rec := p.containerRecord(id); err == nil && rec != nil {
		p.mu.Lock() // Stops remove containers in parallel.
		defer p.mu.Unlock()
		step := plan.Step{Op: plan.StartContainer, Name: rec.Name}
		p.incarnation.memory = p.incarnation.memory.RecordStage(step, plan.StageNotStarted, id, p.executor.Now())
	}
	return err
}

// sendRemoveContainer sends RemoveContainer to the runtime, and passes the result with the reason why to
// Hooks.ActionDone.
func (p *syncPass) sendRemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest, why string) error {
	return p.runActionAndReport(ctx, Result{Action: RemoveContainer, Target: req.ContainerID, Why: why}, func() error {
		return p.callRuntimeUncancelled(ctx, func(ctx context.Context) error { return p.cfg.Runtime.RemoveContainer(ctx, req) })
	})
}

// removeSandbox removes a sandbox with its stopped containers from the runtime, and reports the result to
// Hooks.ActionDone.
func (p *syncPass) removeSandbox(ctx context.Context, id, why string) error {
	return p.runActionAndReport(ctx, Result{Action: RemovePodSandbox, Target: id, Why: why}, func() error {
		return p.callRuntimeUncancelled(ctx, func(ctx context.Context) error {
			return p.cfg.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
		})
	})
}
