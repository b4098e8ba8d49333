package podsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// executeDecision executes a decision: first its stops and removals, then the updates of running containers and
// of the cgroup, then the volume set-up, the new sandbox and containerStarts. A failed update of a container
// does not prevent the starts; a failed update of the cgroup does. Before it creates anything it checks that
// the runtime is ready, and for a new sandbox with nothing running also before the stops. It also records each
// value that the runtime reports wrongly.
func (p *podSync) executeDecision(ctx context.Context, decision *plan.Decision, containerStarts []plan.Held) error {
	p.starting = p.starting[:0:0]
	for i := range containerStarts {
		p.starting = append(p.starting, containerStarts[i].Step)
	}
	for _, diff := range decision.Contradictions(p.pod, p.status, p.incarnation.number) {
		p.recordRuntimeMismatchOncePerField(&diff)
	}
	creation := firstStepWithOp(decision.Steps, plan.CreateSandbox)
	checkReadyFirst := creation != nil && !p.status.MayRun()
	if checkReadyFirst {
		if err := p.checkRuntimeReadyOrRecordEvent(ctx); err != nil {
			return err
		}
	}
	if err := p.executeStopsAndRemovals(ctx, decision.Steps, creation); err != nil {
		return err
	}
	cgroupErr, resizeErr := p.resizeContainersAndCgroup(ctx, decision)
	if cgroupErr != nil {
		return cgroupErr
	}
	if len(containerStarts) == 0 || ctx.Err() != nil {
		return resizeErr
	}
	err := p.setUpAndStart(ctx, containerStarts, creation, !checkReadyFirst)
	if resizeErr != nil {
		err = errors.Join(resizeErr, err)
	}
	return err
}

// setUpAndStart sets up the volumes of the pod, creates its sandbox unless creation is nil, and starts the
// containers. If checkReady is true, it first checks that the runtime is ready. If the volumes were set up before, an
// error of their update does not stop the containers from starting, and is returned afterwards.
func (p *podSync) setUpAndStart(ctx context.Context, containerStarts []plan.Held, creation *plan.Step, checkReady bool) error {
	if checkReady {
		if err := p.checkRuntimeReadyOrRecordEvent(ctx); err != nil {
			return err
		}
	}
	volumesErr := p.setUpVolumes(ctx)
	if volumesErr != nil && !p.canStartWithoutUpdate(ctx, volumesErr) {
		return volumesErr
	}
	err := p.createSandboxAndStartContainers(ctx, containerStarts, creation)
	if volumesErr != nil {
		err = errors.Join(volumesErr, err)
	}
	return err
}

// firstStepWithOp returns a pointer to the first step with an Op, or nil if there is none.
func firstStepWithOp(steps []plan.Step, op plan.Op) *plan.Step {
	for i := range steps {
		if steps[i].Op == op {
			return &steps[i]
		}
	}
	return nil
}

// createSandboxAndStartContainers creates the log directory and, if creation is not nil, a sandbox, and then
// starts the containers one after the other. An error of one container does not stop the others; the errors are
// joined.
func (p *podStarter) createSandboxAndStartContainers(ctx context.Context, starts []plan.Held, creation *plan.Step) (err error) {
	if err := p.createLogDirectory(); err != nil {
		return err
	}
	made := ""
	if creation != nil {
		if made, err = p.createSandbox(ctx, creation); err != nil {
			return err
		}
		if err := p.inspectIfPodIPsNeeded(ctx); err != nil {
			return err
		}
	}
	defer p.releaseVolumeImages()
	var errs []error
	for i := range starts {
		st := &containerStart{podStarter: p, Held: &starts[i]}
		if st.SandboxID == "" {
			st.SandboxID = made
		}
		errs = append(errs, st.startUnlessDelayed(ctx)) // The list has no container that needs this one (RS-7).
	}
	return errors.Join(errs...)
}

// createLogDirectory creates the log directory of the pod, if Config.Logs is set. If that fails, it records a
// Warning event and returns an error.
func (p *podStarter) createLogDirectory() error {
	if p.cfg.Logs == nil {
		return nil
	}
	err := p.cfg.Logs.SetUp(p.runtimePodRef())
	if err == nil {
		return nil
	}
	p.recordWarning("", eventDirectories, "The directory for the logs of the pod cannot be made: %v", err)
	return fmt.Errorf("podsync: the directory for the logs: %w", err)
}

// inspectIfPodIPsNeeded inspects the pod after its sandbox was created, if the hosts file or a container needs
// the pod addresses. It uses the new runtime status for the rest of the sync. For a pod in the host network it
// does nothing. It returns an error if the inspection fails.
func (p *podStarter) inspectIfPodIPsNeeded(ctx context.Context) error {
	if p.pod.Spec.HostNetwork || p.cfg.Files == nil && !request.NeedsPodIPs(p.pod) {
		return nil
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the new sandbox cannot be inspected: %w", err)
	}
	p.setAndRecordObservedStatus(status)
	return nil
}

// executeStopsAndRemovals executes the steps that stop or remove something, and skips the others. It returns at
// the first error, but ignores errors of steps that are Independent. creation is the step that creates a
// sandbox, or nil.
func (p *podSync) executeStopsAndRemovals(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	for len(steps) > 0 {
		together := stepsDoneTogether(steps)
		if err := p.executeStopsOrFirstRemoval(ctx, together, creation); err != nil && !together[0].Independent {
			return err
		}
		steps = steps[len(together):]
	}
	return nil
}

// stepsDoneTogether returns the leading steps that are executed at the same time. These are all leading steps
// with the same Op if it is StopContainer or StopSandbox, and only the first step for any other Op. steps must
// not be empty.
func stepsDoneTogether(steps []plan.Step) []plan.Step {
	n := 1
	for op := steps[0].Op; (op == plan.StopContainer || op == plan.StopSandbox) && n < len(steps) && steps[n].Op == op; {
		n++
	}
	return steps[:n]
}

// executeStopsOrFirstRemoval executes steps that all have the same Op. It stops all containers or sandboxes of
// the steps. Of removals it executes only the first step. creation is the step that creates the next sandbox
// after StopPod, or nil. For an Op that creates, starts or updates something it does nothing and returns nil.
func (p *podSync) executeStopsOrFirstRemoval(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	step := &steps[0]
	switch step.Op {
	case plan.StopPod:
		return p.executeStopPod(ctx, step, creation)
	case plan.StopContainer:
		return p.killer.killContainers(ctx, steps)
	case plan.RemoveContainer:
		return p.removeContainer(ctx, step.ID, string(step.Reason))
	case plan.StopSandbox:
		ids := make([]string, len(steps))
		for i := range ids {
			ids[i] = steps[i].ID
		}
		return p.killer.recordKillResultAndDelayRetry(ctx, p.killer.stopSandboxes(ctx, ids, string(step.Reason)))
	case plan.RemoveSandbox:
		return p.removeSandbox(ctx, step.ID, string(step.Reason))
	case plan.CreateSandbox, plan.StartContainer, plan.UpdateContainer:
		return nil // createSandboxAndStartContainers does them.
	}
	return fmt.Errorf("podsync: no such step: %d", step.Op)
}

// executeStopPod stops all containers and sandboxes of the pod. If the pod then gets a new sandbox (creation is
// not nil), it first stores which containers are stopped for their next attempt. It then also records the event
// SandboxChanged, once for each sandbox attempt, unless the pod had no sandbox.
func (p *podSync) executeStopPod(ctx context.Context, step, creation *plan.Step) error {
	if creation != nil {
		if creation.Reason != plan.WhyNoSandbox && p.incarnation.recordedEvents.setReplacementRecorded(creation.Attempt) {
			p.recordEvent("", eventSandboxChanged, "The sandbox is replaced: %s", step.Reason)
		}
		p.recordAndSaveAllStopsForNextAttempt()
	}
	return p.killer.killPod(ctx, lifecycle.Grace{}, string(step.Reason))
}
