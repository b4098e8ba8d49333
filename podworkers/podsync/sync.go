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

// podSync is one call of SyncPod. It decides the steps for one pod and does them.
type podSync struct {
	*podStarter
	decidedAt time.Time // when plan.Decide was called last
}

// newPodSync returns the state of one SyncPod call.
func (s *Syncer) newPodSync(ctx context.Context, pod *v1.Pod, status *runtime.PodStatus) *podSync {
	killer := s.newPodKiller(ctx, pod, status)
	return &podSync{podStarter: &podStarter{statusWriter: killer.statusWriter, killer: killer}}
}

// SyncPod implements podworkers.PodSyncer. It publishes the status of the pod and does the steps that
// plan.Decide returns. It rolls nothing back. The next call continues from the status that it receives.
func (s *Syncer) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, podStatus *runtime.PodStatus) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	p := s.newPodSync(ctx, pod, podStatus)
	p.incarnation.memory = p.incarnation.memory.RecordObservation() // The runtime was inspected after the last call.
	p.incarnation.stableInput = stableInput{}
	if err := p.inspectAgainIfContainerMissing(ctx); err != nil {
		return false, err
	}
	defer p.callChangedHookIfMayHaveChanged()
	if err := p.killer.stopContainersWithPendingPostStart(ctx); err != nil {
		return false, err
	}
	p.addPodToProber()
	status := p.publishStatus(ctx, false, nil)
	if p.storePanicErr != nil {
		return false, p.storePanicErr
	}
	if plan.IsTerminal(status.Phase) {
		return true, nil
	}
	if isPastActiveDeadline(pod, &status, p.executor.Now()) {
		return false, nil
	}
	decision := p.decideSteps(&status)
	held := p.replacementDelayError(&decision)
	starts := decision.Starts(p.pod)
	if len(decision.Steps) == 0 && len(starts) == 0 {
		limitErr, err := p.setUpCgroupAfterUpdates(ctx, &decision)
		err = errors.Join(held, limitErr, err, p.setUpVolumes(ctx))
		if p.reasonsChanged {
			p.publishStatus(ctx, false, nil)
			err = errors.Join(err, p.storePanicErr)
		}
		if err == nil {
			p.storeStableInputIfIdle()
		}
		return false, err
	}
	err := p.executeDecision(ctx, &decision, starts)
	if err == nil && shouldDecideAgain(&decision, p.decidedAt) {
		err = p.restartAfterContainersRemoved(ctx)
	}
	p.recordCredentialFaultsIfPullFailed()
	if p.reasonsChanged {
		// Publish why a container waits now. The next sync may come only after a back-off.
		p.publishStatus(ctx, false, nil)
	}
	if err != nil && ctx.Err() != nil && !isCancelled(ctx, err) {
		err = errors.Join(err, ctx.Err()) // The caller must see that the call was cancelled.
	}
	if held != nil || p.storePanicErr != nil {
		err = errors.Join(err, held, p.storePanicErr)
	}
	return false, err
}

// decideSteps calls plan.Decide for the pod and returns its decision. It also stores the time of the decision
// and the new memory of the pod.
func (p *podSync) decideSteps(published *v1.PodStatus) plan.Decision {
	p.decidedAt = p.executor.Now()
	decision := plan.Decide(p.pod, p.status, plan.Input{
		Incarnation: p.incarnation.number, Now: p.decidedAt, Addresses: true, Resizes: p.runtimeFeatures().Updater != nil, CrashLoop: p.cfg.CrashLoop, Memory: p.incarnation.memory,
		Published: published, Probed: p.probeResultsByContainerID(),
	})
	p.incarnation.memory = decision.Memory
	return decision
}

// shouldDecideAgain reports whether the steps of a decision must be followed by another decision at once. That
// is so if all containers of the pod were removed for a restart.
func shouldDecideAgain(decision *plan.Decision, decidedAt time.Time) bool {
	return !decision.NextAt.IsZero() && !decision.NextAt.After(decidedAt)
}

// restartAfterContainersRemoved inspects the pod after all its containers were removed for a restart, publishes
// its status, and makes and executes the next decision. It returns an error if the runtime still has the
// containers. The next sync would be too late, because no change of the pod causes one (SP-14).
func (p *podSync) restartAfterContainersRemoved(ctx context.Context) error {
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot inspect the pod after its containers were removed for a restart: %w", err)
	}
	p.setAndRecordObservedStatus(status)
	published := p.publishStatus(ctx, false, nil)
	if p.storePanicErr != nil {
		return p.storePanicErr
	}
	decision := p.decideSteps(&published)
	if shouldDecideAgain(&decision, p.decidedAt) {
		return errors.New("podsync: the containers were removed for a restart and the runtime still has them")
	}
	return p.executeDecision(ctx, &decision, decision.Starts(p.pod))
}

// inspectAgainIfContainerMissing inspects the pod again if the runtime status lacks a container that was
// published as running, and uses the new status for the sync. One status without the container is not enough to
// start the container a second time. It returns an error if the inspection fails or the status store panics.
func (p *podSync) inspectAgainIfContainerMissing(ctx context.Context) error {
	vanished := false
	p.readPublishedStatus(func(old *v1.PodStatus) {
		vanished = plan.HasVanishedContainer(p.status, plan.Input{Incarnation: p.incarnation.number, Memory: p.incarnation.memory, Published: old})
	})
	if !vanished || p.storePanicErr != nil {
		return p.storePanicErr
	}
	status, err := p.inspectPod(ctx, p.pod.UID)
	if err != nil {
		return fmt.Errorf("podsync: cannot confirm that a container is missing: %w", err)
	}
	p.setAndRecordObservedStatus(status)
	return nil
}

// checkRuntimeReadyOrRecordEvent returns an error if the status of the runtime cannot be read, or if the
// runtime is not ready. For a pod outside the host network it also returns an error if the network is not
// ready, and then records a Warning event. A runtime without the feature StatusReporter counts as ready.
func (p *podStarter) checkRuntimeReadyOrRecordEvent(ctx context.Context) error {
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

// createSandbox creates the next sandbox of the pod and returns its ID. It stores the attempt and the result in
// the memory of the pod. If the creation fails, it records a Warning event. If a ready sandbox exists all the
// same, the error asks for an immediate retry.
func (p *podStarter) createSandbox(ctx context.Context, creation *plan.Step) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p.incarnation.memory = p.incarnation.memory.RecordAttempt(*creation, p.executor.Now())
	err = p.runActionAndReport(ctx, Result{Action: CreatePodSandbox, Target: p.pod.Name, Why: string(creation.Reason)}, func() error {
		req, err := p.buildSandboxRequest(creation.Attempt)
		if err != nil {
			return withWaitingReason(podstatus.ReasonCreatePodSandboxError, err)
		}
		return withWaitingReason(podstatus.ReasonCreatePodSandboxError, p.callRuntimeUncancelled(ctx, func(ctx context.Context) (err error) {
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
	p.recordWarning("", eventCreateSandbox, "Failed to create pod sandbox: %v", err)
	return "", p.addRetryNowIfCreated(ctx, err, nil, func(sandbox *runtime.SandboxStatus) bool {
		return sandbox.Incarnation == p.incarnation.number && sandbox.Attempt == creation.Attempt && sandbox.Ready
	})
}
