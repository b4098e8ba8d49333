package podsync

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

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
	v.incarnation.looks++ // It was looked at after the last call.
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
	actions := s.decide(v, &status)
	held := s.heldBack(v, &actions)
	if actions.Idle() {
		return false, errors.Join(held, s.setUp(ctx, v))
	}
	err := s.act(ctx, v, &actions)
	if err == nil && len(actions.Reset) > 0 {
		err = s.restartAfterReset(ctx, v)
	}
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
func (s *Syncer) decide(v *syncPass, published *v1.PodStatus) plan.Actions {
	now := s.executor.Now()
	actions := plan.Decide(plan.Input{
		Pod: v.pod, Status: v.status, Incarnation: v.incarnation.number, Now: now, NotBefore: s.notBefore(v, now), SandboxNotBefore: s.sandboxNotBefore(v, now),
		Published: published, Probed: s.probed(v), Initialized: v.incarnation.initialized,
		Replaced: v.incarnation.memory.replaced,
	})
	v.forgetKills(&actions)
	v.incarnation.initialized = ""
	if actions.Initialized {
		v.incarnation.initialized = actions.SandboxID
	}
	return actions
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
	actions := s.decide(v, &published)
	if len(actions.Reset) > 0 {
		return errors.New("podsync: the containers were reset and are still there")
	}
	return s.act(ctx, v, &actions)
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

// act does what was decided: ends what must end, then starts. Where nothing
// runs, ending is only tidying up before a new sandbox, and waits until that can
// be made: otherwise each retry would tidy up again.
func (s *Syncer) act(ctx context.Context, v *syncPass, a *plan.Actions) error {
	v.starting = a.Containers
	s.contradictions(v, a)
	tidies := a.CreateSandbox != "" && !v.status.MayRun()
	if tidies {
		if err := s.ready(ctx, v); err != nil {
			return err
		}
	}
	if err := s.cleanUp(ctx, v, a); err != nil {
		return err
	}
	if len(a.Ephemeral) == 0 && len(a.Init) == 0 && len(a.Containers) == 0 {
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
	return s.begin(ctx, v, a)
}

// begin starts what is to be started, in a new sandbox if need be.
func (s *Syncer) begin(ctx context.Context, v *syncPass, a *plan.Actions) (err error) {
	if s.cfg.Logs != nil {
		if err := s.cfg.Logs.SetUp(v.ref()); err != nil {
			return fmt.Errorf("podsync: the directory for the logs: %w", err)
		}
	}
	sandbox := a.SandboxID
	if a.CreateSandbox != "" {
		if sandbox, err = s.createSandbox(ctx, v, a); err != nil {
			return err
		}
		if err := s.lookAtSandbox(ctx, v); err != nil {
			return err
		}
	}
	var errs []error
	for i := range a.Ephemeral {
		errs = append(errs, s.start(ctx, v, &a.Ephemeral[i], sandbox))
	}
	for i := range a.Init {
		errs = append(errs, s.start(ctx, v, &a.Init[i], sandbox)) // Nothing that needs it is in the plan (RS-7).
	}
	for i := range a.Containers {
		errs = append(errs, s.start(ctx, v, &a.Containers[i], sandbox))
	}
	return errors.Join(errs...)
}

// lookAtSandbox finds out the addresses of a new sandbox, where a container is
// told of them.
func (s *Syncer) lookAtSandbox(ctx context.Context, v *syncPass) error {
	if v.pod.Spec.HostNetwork || s.cfg.Files == nil && !tellsAddresses(v.pod) {
		return nil
	}
	status, err := s.look(ctx, v.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the new sandbox cannot be looked at: %w", err)
	}
	v.see(status)
	return nil
}

// cleanUp ends and removes what is in the way. If a kill fails nothing may be
// started; a record that cannot be removed is in nobody's way.
func (s *Syncer) cleanUp(ctx context.Context, v *syncPass, a *plan.Actions) error {
	if a.KillPod != "" {
		if a.CreateSandbox != "" && a.CreateSandbox != plan.WhyNoSandbox && v.incarnation.sandbox.news(a.SandboxAttempt) {
			s.tell(v, "", eventSandboxChanged, "The sandbox is replaced: %s", a.KillPod)
		}
		if a.CreateSandbox != "" {
			s.toReplaceAll(v)
		}
		if err := s.killPod(ctx, v, nil, string(a.KillPod)); err != nil {
			return err
		}
	}
	if err := s.killSome(ctx, v, a.Kill); err != nil {
		return err
	}
	if err := s.reset(ctx, v, a.Reset); err != nil {
		return err
	}
	for _, id := range a.Prune {
		_ = s.removeContainer(ctx, v, id, "an older attempt") // Tried again with the next one.
	}
	if len(a.StopSandboxes) > 0 {
		if err := s.killed(ctx, v, s.stopSandboxes(ctx, v, a.StopSandboxes, "nobody uses it")); err != nil {
			return err
		}
	}
	for _, id := range a.RemoveSandboxes {
		if err := s.removeSandbox(ctx, v, id, "came late"); err != nil {
			return err
		}
	}
	for _, id := range a.PruneSandboxes {
		_ = s.removeSandbox(ctx, v, id, "a former life") // Tried again with the next sync.
	}
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
func (s *Syncer) createSandbox(ctx context.Context, v *syncPass, a *plan.Actions) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	v.incarnation.sandbox.replaces(s.cfg.CrashLoop, s.executor.Now())
	err = s.do(ctx, v, Result{Action: CreatePodSandbox, Target: v.pod.Name, Why: string(a.CreateSandbox)}, func() error {
		req, err := s.sandboxRequest(v, a.SandboxAttempt)
		if err != nil {
			return because(ErrCreatePodSandbox, err)
		}
		return because(ErrCreatePodSandbox, s.commit(ctx, v, func(ctx context.Context) (err error) {
			id, err = s.cfg.Runtime.RunSandbox(ctx, req)
			return err
		}))
	})
	if err == nil {
		v.incarnation.sandbox.made(id)
		return id, ctx.Err()
	}
	if ctx.Err() != nil {
		return "", ctx.Err() // The pod is to end: nobody needs to hear of its beginning.
	}
	s.warn(v, "", eventCreateSandbox, "Failed to create the sandbox: %v", err)
	return "", s.perhapsDone(ctx, v, err, nil, func(sandbox *runtime.SandboxStatus) bool {
		return sandbox.Incarnation == v.incarnation.number && sandbox.Attempt == a.SandboxAttempt && sandbox.Ready
	})
}
