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

// podSync is one call of SyncPod: it decides the steps for one pod and does them.
type podSync struct {
	*podStarter
	decidedAt time.Time // when plan.Decide was called last
}

// newPodSync returns the podSync of a new pass over a pod.
func (s *Syncer) newPodSync(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *podSync {
	killer := s.newPodKiller(ctx, pod, status)
	return &podSync{podStarter: &podStarter{statusWriter: killer.statusWriter, killer: killer}}
}

// SyncPod implements podworkers.PodSyncer: it publishes the status of the pod and does the steps that
// plan.Decide returns. It rolls nothing back; the next call continues from the status that it is given.
func (s *Syncer) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, podStatus *runtime.PodStatus) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	p := s.newPodSync(ctx, pod, podStatus)
	p.incarnation.memory = p.incarnation.memory.RecordObservation() // podStatus was observed after the last call.
	p.incarnation.stable = stable{}
	if err := p.confirmWithRuntime(ctx); err != nil {
		return false, err
	}
	defer p.reportChanged()
	if err := p.killer.stopPostStartPending(ctx); err != nil {
		return false, err
	}
	p.addProbes()
	status := p.publish(ctx, false, nil)
	if p.storeErr != nil {
		return false, p.storeErr
	}
	if plan.IsTerminal(status.Phase) {
		return true, nil
	}
	if overdue(pod, &status, p.executor.Now()) {
		return false, nil
	}
	decision := p.decide(&status)
	held := p.heldReplacements(&decision)
	starts := decision.Starts(p.pod)
	if len(decision.Steps) == 0 && len(starts) == 0 {
		err := errors.Join(held, p.setUpVolumes(ctx))
		if err == nil {
			p.noteStable()
		}
		return false, err
	}
	err := p.execute(ctx, &decision, starts)
	if err == nil && atOnce(&decision, p.decidedAt) {
		err = p.restartAfterReset(ctx)
	}
	p.reportCredentials()
	if p.reasonsChanged {
		// The reason why a container waits is published now, and not after a back-off.
		p.publish(ctx, false, nil)
	}
	if err != nil && ctx.Err() != nil && !isCancelled(ctx, err) {
		err = errors.Join(err, ctx.Err()) // The call was cancelled, whatever else failed.
	}
	if held != nil || p.storeErr != nil {
		err = errors.Join(err, held, p.storeErr)
	}
	return false, err
}

// decide calls plan.Decide and keeps the Memory of the decision.
func (p *podSync) decide(published *v1.PodStatus) plan.Decision {
	p.decidedAt = p.executor.Now()
	decision := plan.Decide(p.pod, p.status, plan.Input{
		Incarnation: p.incarnation.number, Now: p.decidedAt, Addresses: true, CrashLoop: p.cfg.CrashLoop, Memory: p.incarnation.memory,
		Published: published, Probed: p.probeVerdicts(),
	})
	p.incarnation.memory = decision.Memory
	return decision
}

// atOnce reports whether the next decision follows as soon as the steps are done.
func atOnce(d *plan.Decision, decided time.Time) bool {
	return !d.NextAt.IsZero() && !d.NextAt.After(decided)
}

// restartAfterReset decides again after the containers were reset, and does the steps: no change of the
// pod would cause another sync (SP-14).
func (p *podSync) restartAfterReset(ctx context.Context) error {
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: the containers were reset, and the runtime does not show it: %w", err)
	}
	p.useStatus(status)
	published := p.publish(ctx, false, nil)
	if p.storeErr != nil {
		return p.storeErr
	}
	decision := p.decide(&published)
	if atOnce(&decision, p.decidedAt) {
		return errors.New("podsync: the containers were reset and are still there")
	}
	return p.execute(ctx, &decision, decision.Starts(p.pod))
}

// confirmWithRuntime inspects the pod if a container that was published as running has no record: one
// observation without the record is not enough to start the container a second time.
func (p *podSync) confirmWithRuntime(ctx context.Context) error {
	vanished := false
	p.readPublishedStatus(func(old *v1.PodStatus) {
		vanished = plan.HasVanishedContainer(p.status, plan.Input{Incarnation: p.incarnation.number, Memory: p.incarnation.memory, Published: old})
	})
	if !vanished || p.storeErr != nil {
		return p.storeErr
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: a container has vanished, and the runtime does not confirm it: %w", err)
	}
	p.useStatus(status)
	return nil
}

// checkRuntimeReady returns an error if the runtime or its network is not ready. It is called before
// starts only: what runs goes on without a network.
func (p *podStarter) checkRuntimeReady(ctx context.Context) error {
	reporter := p.runtimeFeatures().StatusReporter
	if reporter == nil {
		return nil
	}
	var status runtime.RuntimeStatus
	err := p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) (err error) {
		status, err = reporter.RuntimeStatus(ctx)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("podsync: %w", err)
	case !status.RuntimeReady:
		return fmt.Errorf("podsync: %w: %s", runtime.ErrNotReady, status.RuntimeMessage)
	case !status.NetworkReady && !p.pod.Spec.HostNetwork:
		p.recordWarning("", eventNetworkNotReady, "The network is not ready: %s", status.NetworkMessage)
		return fmt.Errorf("podsync: %w: %s", runtime.ErrNetworkNotReady, status.NetworkMessage)
	}
	return nil
}

// createSandbox creates the next sandbox of the pod and returns its ID.
func (p *podStarter) createSandbox(ctx context.Context, creation *plan.Step) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p.incarnation.memory = p.incarnation.memory.RecordAttempt(*creation, p.executor.Now())
	err = p.runAction(ctx, Result{Action: CreatePodSandbox, Target: p.pod.Name, Why: string(creation.Reason)}, func() error {
		req, err := p.sandboxRequest(creation.Attempt)
		if err != nil {
			return because(podstatus.ReasonCreatePodSandboxError, err)
		}
		return because(podstatus.ReasonCreatePodSandboxError, p.callUncancelled(ctx, func(ctx context.Context) (err error) {
			id, err = p.cfg.Runtime.RunSandbox(ctx, req)
			return err
		}))
	})
	if err == nil {
		p.incarnation.memory = p.incarnation.memory.RecordStage(*creation, plan.StageCreated, id, p.executor.Now())
		return id, ctx.Err()
	}
	if ctx.Err() != nil {
		return "", ctx.Err() // The call was cancelled: no event.
	}
	p.recordWarning("", eventCreateSandbox, "Failed to create the sandbox: %v", err)
	return "", p.retryIfDone(ctx, err, nil, func(sandbox *runtime.SandboxStatus) bool {
		return sandbox.Incarnation == p.incarnation.number && sandbox.Attempt == creation.Attempt && sandbox.Ready
	})
}
