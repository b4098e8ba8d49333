package podsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// act does what was decided: ends what must end, then starts. Where nothing
// runs, ending is only tidying up before a new sandbox, and waits until that can
// be made: otherwise each retry would tidy up again.
func (s *Syncer) act(ctx context.Context, v *syncPass, d *plan.Decision, starts []plan.Held) error {
	v.starting = v.starting[:0:0]
	for i := range starts {
		v.starting = append(v.starting, starts[i].Step)
	}
	for _, diff := range d.Contradictions(v.pod, v.status, v.incarnation.number) {
		s.contradicts(v, &diff)
	}
	creation := stepOf(d.Steps, plan.CreateSandbox)
	tidies := creation != nil && !v.status.MayRun()
	if tidies {
		if err := s.ready(ctx, v); err != nil {
			return err
		}
	}
	if err := s.clear(ctx, v, d.Steps, creation); err != nil {
		return err
	}
	if len(starts) == 0 {
		return nil
	}
	if !tidies {
		if err := s.ready(ctx, v); err != nil {
			return err
		}
	}
	if err := s.setUp(ctx, v); err != nil {
		return err
	}
	return s.begin(ctx, v, starts, creation)
}

// stepOf is the step of a kind that there is once at most. Nil: there is none.
func stepOf(steps []plan.Step, op plan.Op) *plan.Step {
	for i := range steps {
		if steps[i].Op == op {
			return &steps[i]
		}
	}
	return nil
}

// begin starts what is to be started, in a new sandbox if need be.
func (s *Syncer) begin(ctx context.Context, v *syncPass, starts []plan.Held, creation *plan.Step) (err error) {
	if err := s.logDirectory(v); err != nil {
		return err
	}
	made := ""
	if creation != nil {
		if made, err = s.createSandbox(ctx, v, creation); err != nil {
			return err
		}
		if err := s.lookAtSandbox(ctx, v); err != nil {
			return err
		}
	}
	defer v.releaseVolumeImages()
	var errs []error
	for i := range starts {
		sandbox := starts[i].SandboxID
		if sandbox == "" {
			sandbox = made
		}
		errs = append(errs, s.start(ctx, v, &starts[i], sandbox)) // Nothing that needs it is in the list (RS-7).
	}
	return errors.Join(errs...)
}

// logDirectory makes the directory for the logs of a pod, if there is to be one.
func (s *Syncer) logDirectory(v *syncPass) error {
	if s.cfg.Logs == nil {
		return nil
	}
	err := s.cfg.Logs.SetUp(v.ref())
	if err == nil {
		return nil
	}
	s.warn(v, "", eventDirectories, "The directory for the logs of the pod cannot be made: %v", err)
	return fmt.Errorf("podsync: the directory for the logs: %w", err)
}

// lookAtSandbox finds out the addresses of a new sandbox, where a container is
// told of them.
func (s *Syncer) lookAtSandbox(ctx context.Context, v *syncPass) error {
	if v.pod.Spec.HostNetwork || s.cfg.Files == nil && !request.TellsAddresses(v.pod) {
		return nil
	}
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the new sandbox cannot be inspected: %w", err)
	}
	v.see(status)
	return nil
}

// clear ends and removes what is in the way. If a kill fails nothing may be
// started; a record that cannot be removed is in nobody's way. creation is nil if no
// sandbox is made.
func (s *Syncer) clear(ctx context.Context, v *syncPass, steps []plan.Step, creation *plan.Step) error {
	for len(steps) > 0 {
		together := alike(steps)
		if err := s.clearOne(ctx, v, together, creation); err != nil && !together[0].Independent {
			return err
		}
		steps = steps[len(together):]
	}
	return nil
}

// alike are the steps that are done with the first of them at the same time.
func alike(steps []plan.Step) []plan.Step {
	n := 1
	for op := steps[0].Op; (op == plan.StopContainer || op == plan.StopSandbox) && n < len(steps) && steps[n].Op == op; {
		n++
	}
	return steps[:n]
}

// clearOne does the steps, which are of one kind, unless they make something.
func (s *Syncer) clearOne(ctx context.Context, v *syncPass, steps []plan.Step, creation *plan.Step) error {
	step := &steps[0]
	switch step.Op {
	case plan.StopPod:
		return s.clearPod(ctx, v, step, creation)
	case plan.StopContainer:
		return s.killSome(ctx, v, steps)
	case plan.RemoveContainer:
		return s.removeContainer(ctx, v, step.ID, string(step.Reason))
	case plan.StopSandbox:
		ids := make([]string, len(steps))
		for i := range ids {
			ids[i] = steps[i].ID
		}
		return s.killed(ctx, v, s.stopSandboxes(ctx, v, ids, string(step.Reason)))
	case plan.RemoveSandbox:
		return s.removeSandbox(ctx, v, step.ID, string(step.Reason))
	case plan.CreateSandbox, plan.StartContainer:
		return nil // They come when all else is done.
	}
	return fmt.Errorf("podsync: no such step: %d", step.Op)
}

// clearPod stops the pod, which is perhaps about to get another sandbox.
func (s *Syncer) clearPod(ctx context.Context, v *syncPass, step, creation *plan.Step) error {
	if creation != nil {
		if creation.Reason != plan.WhyNoSandbox && v.incarnation.reported.isNews(creation.Attempt) {
			s.tell(v, "", eventSandboxChanged, "The sandbox is replaced: %s", step.Reason)
		}
		s.toReplaceAll(v)
	}
	return s.killPod(ctx, v, nil, string(step.Reason))
}
