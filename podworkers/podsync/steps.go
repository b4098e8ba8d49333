package podsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// execute does the steps of a decision: first the stops and removals, then the starts. If nothing runs
// and a sandbox is to be created, it stops and removes nothing until the runtime is ready: otherwise
// each retry would do so again.
func (p *podSync) execute(ctx context.Context, d *plan.Decision, starts []plan.Held) error {
	p.starting = p.starting[:0:0]
	for i := range starts {
		p.starting = append(p.starting, starts[i].Step)
	}
	for _, diff := range d.Contradictions(p.pod, p.status, p.incarnation.number) {
		p.reportMismatch(&diff)
	}
	creation := stepOf(d.Steps, plan.CreateSandbox)
	tidies := creation != nil && !p.status.MayRun()
	if tidies {
		if err := p.checkRuntimeReady(ctx); err != nil {
			return err
		}
	}
	if err := p.stopAndRemove(ctx, d.Steps, creation); err != nil {
		return err
	}
	if len(starts) == 0 {
		return nil
	}
	if !tidies {
		if err := p.checkRuntimeReady(ctx); err != nil {
			return err
		}
	}
	if err := p.setUpVolumes(ctx); err != nil {
		return err
	}
	return p.startContainers(ctx, starts, creation)
}

// stepOf returns the first step with an Op, or nil.
func stepOf(steps []plan.Step, op plan.Op) *plan.Step {
	for i := range steps {
		if steps[i].Op == op {
			return &steps[i]
		}
	}
	return nil
}

// startContainers starts containers one after the other, in a new sandbox if creation is not nil.
func (p *podStarter) startContainers(ctx context.Context, starts []plan.Held, creation *plan.Step) (err error) {
	if err := p.createLogDirectory(); err != nil {
		return err
	}
	made := ""
	if creation != nil {
		if made, err = p.createSandbox(ctx, creation); err != nil {
			return err
		}
		if err := p.inspectNewSandbox(ctx); err != nil {
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
		errs = append(errs, st.start(ctx)) // No container that needs this one is in the list (RS-7).
	}
	return errors.Join(errs...)
}

// createLogDirectory creates the directory for the logs of the pod, if Config.Logs has one.
func (p *podStarter) createLogDirectory() error {
	if p.cfg.Logs == nil {
		return nil
	}
	err := p.cfg.Logs.SetUp(p.podRef())
	if err == nil {
		return nil
	}
	p.recordWarning("", eventDirectories, "The directory for the logs of the pod cannot be made: %v", err)
	return fmt.Errorf("podsync: the directory for the logs: %w", err)
}

// inspectNewSandbox inspects the pod for the addresses of its new sandbox, if a container needs them.
func (p *podStarter) inspectNewSandbox(ctx context.Context) error {
	if p.pod.Spec.HostNetwork || p.cfg.Files == nil && !request.TellsAddresses(p.pod) {
		return nil
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the new sandbox cannot be inspected: %w", err)
	}
	p.useStatus(status)
	return nil
}

// stopAndRemove does the steps that stop or remove something, and skips the others. It ends at the first
// error of a step that is not Independent. creation is nil if no sandbox is created.
func (p *podSync) stopAndRemove(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	for len(steps) > 0 {
		together := alike(steps)
		if err := p.stopOrRemove(ctx, together, creation); err != nil && !together[0].Independent {
			return err
		}
		steps = steps[len(together):]
	}
	return nil
}

// alike returns the first step and those after it that are done at the same time.
func alike(steps []plan.Step) []plan.Step {
	n := 1
	for op := steps[0].Op; (op == plan.StopContainer || op == plan.StopSandbox) && n < len(steps) && steps[n].Op == op; {
		n++
	}
	return steps[:n]
}

// stopOrRemove does steps of one kind, unless they create something.
func (p *podSync) stopOrRemove(ctx context.Context, steps []plan.Step, creation *plan.Step) error {
	step := &steps[0]
	switch step.Op {
	case plan.StopPod:
		return p.stopPodForReplacement(ctx, step, creation)
	case plan.StopContainer:
		return p.killer.killContainers(ctx, steps)
	case plan.RemoveContainer:
		return p.removeContainer(ctx, step.ID, string(step.Reason))
	case plan.StopSandbox:
		ids := make([]string, len(steps))
		for i := range ids {
			ids[i] = steps[i].ID
		}
		return p.killer.noteKillResult(ctx, p.killer.stopSandboxes(ctx, ids, string(step.Reason)))
	case plan.RemoveSandbox:
		return p.removeSandbox(ctx, step.ID, string(step.Reason))
	case plan.CreateSandbox, plan.StartContainer:
		return nil // startContainers does them.
	}
	return fmt.Errorf("podsync: no such step: %d", step.Op)
}

// stopPodForReplacement stops the pod. If creation is not nil the pod then gets another sandbox.
func (p *podSync) stopPodForReplacement(ctx context.Context, step, creation *plan.Step) error {
	if creation != nil {
		if creation.Reason != plan.WhyNoSandbox && p.incarnation.reported.isNewReplacement(creation.Attempt) {
			p.recordEvent("", eventSandboxChanged, "The sandbox is replaced: %s", step.Reason)
		}
		p.noteAllReplacing()
	}
	return p.killer.killPod(ctx, nil, string(step.Reason))
}
