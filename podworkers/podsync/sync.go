package podsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// SyncPod implements podworkers.PodSyncer: it says how the pod is, and brings
// it one round closer to its spec. What it has begun it does not take back;
// the next call reads the observed state again and goes on.
func (s *Syncer) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, podStatus *runtime.PodStatus) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	v := s.syncPass(ctx, pod, podStatus)
	v.incarnation.starts.looks++ // It was looked at after the last call.
	v.incarnation.stable = stable{}
	if err := s.confirmWithRuntime(ctx, v); err != nil {
		return false, err
	}
	defer s.changed(v)
	if err := s.finishHooks(ctx, v); err != nil {
		return false, err
	}
	s.addProbes(v)
	status := s.publish(ctx, v, false, nil)
	if v.storeErr != nil {
		return false, v.storeErr
	}
	if plan.IsTerminal(status.Phase) {
		return true, nil
	}
	if overdue(pod, &status, s.executor.Now()) {
		return false, nil
	}
	decision := s.decide(v, &status)
	held := s.heldBack(v, &decision)
	starts := decision.Starts(v.pod)
	if len(decision.Steps) == 0 && len(starts) == 0 {
		err := errors.Join(held, s.setUp(ctx, v))
		if err == nil {
			s.noteStable(v)
		}
		return false, err
	}
	err := s.act(ctx, v, &decision, starts)
	if err == nil && atOnce(&decision, v.decided) {
		err = s.restartAfterReset(ctx, v)
	}
	s.reportCredentials(v)
	if v.explained {
		// Why a container waits is shown at once, not a backoff later.
		s.publish(ctx, v, false, nil)
	}
	if err != nil && ctx.Err() != nil && !cut(ctx, err) {
		err = errors.Join(err, ctx.Err()) // It was told to stop, whatever else went wrong.
	}
	if held != nil || v.storeErr != nil {
		err = errors.Join(err, held, v.storeErr)
	}
	return false, err
}

// decide asks plan what to do, and remembers what it has found out.
func (s *Syncer) decide(v *syncPass, published *v1.PodStatus) plan.Decision {
	v.decided = s.executor.Now()
	decision := plan.Decide(v.pod, v.status, plan.Input{
		Incarnation: v.incarnation.number, Now: v.decided, CrashLoop: s.cfg.CrashLoop, Memory: v.incarnation.decided,
		Published: published, Probed: s.probed(v),
	})
	v.forgetKills(&decision)
	v.incarnation.decided = decision.Memory
	return decision
}

// atOnce reports whether it is to be decided again as soon as the steps are done.
func atOnce(d *plan.Decision, decided time.Time) bool {
	return !d.NextAt.IsZero() && !d.NextAt.After(decided)
}

// restartAfterReset starts what was reset, as far as it goes now: nothing else would
// make the pod look changed (SP-14).
func (s *Syncer) restartAfterReset(ctx context.Context, v *syncPass) error {
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the containers were reset, and the runtime does not show it: %w", err)
	}
	v.see(status)
	published := s.publish(ctx, v, false, nil)
	if v.storeErr != nil {
		return v.storeErr
	}
	decision := s.decide(v, &published)
	if atOnce(&decision, v.decided) {
		return errors.New("podsync: the containers were reset and are still there")
	}
	return s.act(ctx, v, &decision, decision.Starts(v.pod))
}

// confirmWithRuntime asks the runtime itself before a container that has run counts as
// gone: one observation without it is not enough to start it a second time.
func (s *Syncer) confirmWithRuntime(ctx context.Context, v *syncPass) error {
	vanished := false
	s.read(v, func(old *v1.PodStatus) { vanished = plan.Vanished(v.status, v.incarnation.number, old) })
	if !vanished || v.storeErr != nil {
		return v.storeErr
	}
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: a container has vanished, and the runtime does not confirm it: %w", err)
	}
	v.see(status)
	return nil
}

// ready asks whether anything can be started now. It is asked only before a
// start: a network that is down is no reason to touch what runs.
func (s *Syncer) ready(ctx context.Context, v *syncPass) error {
	if s.reporter == nil {
		return nil
	}
	var status runtime.RuntimeStatus
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) (err error) {
		status, err = s.reporter.RuntimeStatus(ctx)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("podsync: %w", err)
	case !status.RuntimeReady:
		return fmt.Errorf("podsync: %w: %s", runtime.ErrNotReady, status.RuntimeMessage)
	case !status.NetworkReady && !v.pod.Spec.HostNetwork:
		s.warn(v, "", eventNetworkNotReady, "The network is not ready: %s", status.NetworkMessage)
		return fmt.Errorf("podsync: %w: %s", runtime.ErrNetworkNotReady, status.NetworkMessage)
	}
	return nil
}

// createSandbox makes the pod's next sandbox.
func (s *Syncer) createSandbox(ctx context.Context, v *syncPass, creation *plan.Step) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	v.incarnation.decided = v.incarnation.decided.Attempted(*creation, s.executor.Now())
	err = s.do(ctx, v, Result{Action: CreatePodSandbox, Target: v.pod.Name, Why: string(creation.Reason)}, func() error {
		req, err := s.sandboxRequest(v, creation.Attempt)
		if err != nil {
			return because(podstatus.ReasonCreatePodSandboxError, err)
		}
		return because(podstatus.ReasonCreatePodSandboxError, s.commit(ctx, v, func(ctx context.Context) (err error) {
			id, err = s.cfg.Runtime.RunSandbox(ctx, req)
			return err
		}))
	})
	if err == nil {
		v.incarnation.decided = v.incarnation.decided.Made(*creation, id)
		return id, ctx.Err()
	}
	if ctx.Err() != nil {
		return "", ctx.Err() // The pod is to end: nobody needs to hear of its beginning.
	}
	s.warn(v, "", eventCreateSandbox, "Failed to create the sandbox: %v", err)
	return "", s.perhapsDone(ctx, v, err, nil, func(sandbox *runtime.SandboxStatus) bool {
		return sandbox.Incarnation == v.incarnation.number && sandbox.Attempt == creation.Attempt && sandbox.Ready
	})
}
