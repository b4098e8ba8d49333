package podsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// executeDecision executes the steps of a decision: first the stops and removals, then the volume set-up and
// containerStarts. Before it starts something it checks that the runtime is ready. If nothing runs and a
// sandbox must be created, it checks that before the stops too, because each retry would repeat them.
func (p *podSync) executeDecision(ctx context.Context, decision *plan.Decision, containerStarts []plan.Held) error {
	p.starting = p.starting[:0:0]
	for i := range containerStarts {
		p.starting = append(p.starting, containerStarts[i].Step)
	}
	for _, diff := range decision.Contradictions(p.pod, p.status, p.incarnation.number) {
		p.recordMismatchOnce(&diff)
	}
	creation := firstStepWithOp(decision.Steps, plan.CreateSandbox)
	checkReadyFirst := creation != nil && !p.status.MayRun()
	if checkReadyFirst {
		if err := p.checkRuntimeReady(ctx); err != nil {
			return err
		}
	}
	if err := p.executeStopsAndRemovals(ctx, decision.Steps, creation); err != nil {
		return err
	}
	if len(containerStarts) == 0 {
		return nil
	}
	if !checkReadyFirst {
		if err := p.checkRuntimeReady(ctx); err != nil {
			return err
		}
	}
	if err := p.setUpVolumes(ctx); err != nil {
		return err
	}
	return p.startContainers(ctx, containerStarts, creation)
}

// firstStepWithOp returns the first step that has the Op, or nil.
func firstStepWithOp(steps []plan.Step, op plan.Op) *plan.Step {
	for i := range steps {
		if steps[i].Op == op {
			return &steps[i]
		}
	}
	return nil
}

// startContainers starts containers one after the other and returns their errors joined. It first creates the
// log directory, and a sandbox if creation is not nil. At the end it releases the leases of the volume images.
func (p *podStarter) startContainers(ctx context.Context, starts []plan.Held, creation *plan.Step) (err error) {
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

// createLogDirectory creates the directory for the logs of the pod, if Config.Logs is set. It records a Warning
// event if that fails.
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

// inspectIfPodIPsNeeded inspects the pod after its sandbox was created, if a hosts file or a container needs
// the addresses of the sandbox. It replaces the observed status. A pod in the host network needs no inspection.
func (p *podStarter) inspectIfPodIPsNeeded(ctx context.Context) error {
	if p.pod.Spec.HostNetwork || p.cfg.Files == nil && !request.NeedsPodIPs(p.pod) {
		return nil
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the new sandbox cannot be inspected: %w", err)
	}
	p.useNewStatus(status)
	return nil
}

// executeStopsAndRemovals executes the steps that stop or remove something, and skips the others. It returns at
// the first error of a step that is not Independent, and ignores the errors of Independent steps. creation is
// nil if the decision creates no sandbox.
func (p *podSync) executeStopsAndRemovals(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	for len(steps) > 0 {
		together := stepsDoneTogether(steps)
		if err := p.executeStopOrRemoval(ctx, together, creation); err != nil && !together[0].Independent {
			return err
		}
		steps = steps[len(together):]
	}
	return nil
}

// stepsDoneTogether returns the first step, with all steps directly after it that have the same Op if the Op
// stops a container or a sandbox. These are executed at the same time.
func stepsDoneTogether(steps []plan.Step) []plan.Step {
	n := 1
	for op := steps[0].Op; (op == plan.StopContainer || op == plan.StopSandbox) && n < len(steps) && steps[n].Op == op; {
		n++
	}
	return steps[:n]
}

// executeStopOrRemoval executes steps that all have the same Op, if the Op stops or removes something. For an
// Op that creates or starts something it does nothing.
func (p *podSync) executeStopOrRemoval(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	step := &steps[0]
	switch step.Op {
	case plan.StopPod:
		return p.stopPodForNewSandbox(ctx, step, creation)
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
	case plan.CreateSandbox, plan.StartContainer:
		return nil // startContainers does them.
	}
	return fmt.Errorf("podsync: no such step: %d", step.Op)
}

// stopPodForNewSandbox stops all containers and sandboxes of the pod. If creation is not nil, the pod gets
// another sandbox afterwards: then it first records the event SandboxChanged, once for each sandbox attempt,
// and stores which containers are stopped for their next attempt.
func (p *podSync) stopPodForNewSandbox(ctx context.Context, step, creation *plan.Step) error {
	if creation != nil {
		if creation.Reason != plan.WhyNoSandbox && p.incarnation.recordedEvents.setReplacementRecorded(creation.Attempt) {
			p.recordEvent("", eventSandboxChanged, "The sandbox is replaced: %s", step.Reason)
		}
		p.recordAndSaveAllReplacements()
	}
	return p.killer.killPod(ctx, lifecycle.Grace{}, string(step.Reason))
}
