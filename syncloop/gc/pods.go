package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// PodsConfig configures Pods. Runtime and Removable are required.
type PodsConfig struct {
	// Runtime has the records. PodStatus and RemoveSandbox are called, concurrently for different
	// pods, each with a timeout of CallTimeout. After an error the pod is retried with a backoff.
	Runtime runtime.Runtime
	// Removable reports whether the records of a pod may be removed. It is called right before each
	// removal, concurrently, and must not block.
	Removable func(uid types.UID) bool
	// Removed, if set, is called after all records of a pod were removed, concurrently. It must not
	// block.
	Removed func(uid types.UID)
	// Retry is the backoff after a failed removal; zero is DefaultRetry. It doubles with each
	// failure, up to MaxRetry; zero is DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout limits each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRemovals limits how many pods are removed concurrently; zero is DefaultMaxRemovals.
	MaxRemovals int
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil
	// ignores it.
	Panicked func(call string, err error)
}

// Pods removes the records of removed pods. Discard may be called by any goroutine, also before Run
// and after it.
type Pods struct {
	config     PodsConfig
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewPods creates a collector. It starts nothing before Run.
func NewPods(config PodsConfig) (*Pods, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked,
		name: "gc of pods", failureMessage: "records of a removed pod could not be removed; retrying",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	return &Pods{config: config, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// Discard enqueues pods whose records may be removed. It never blocks. A pod that is already
// waiting keeps its place and its backoff.
func (p *Pods) Discard(uids []types.UID) { p.retryQueue.enqueueUnlessWaiting(uids) }

// Run removes the enqueued pods until ctx ends, and then returns nil. The end of ctx does not
// cancel a removal that was sent; only its timeout does. A second call returns
// runtime.ErrSecondRun.
func (p *Pods) Run(ctx context.Context) error {
	return p.retryQueue.runStepWhenDue(ctx, p.Step)
}

// Step processes every pod that is due, several concurrently, and returns after them.
func (p *Pods) Step(ctx context.Context) {
	p.retryQueue.attemptDuePods(ctx, p.config.MaxRemovals, func(ctx context.Context, uid types.UID) attemptResult {
		err := p.removeSandboxesUnlessPodMayRun(ctx, uid)
		if errors.Is(err, errPodRuns) {
			return attemptResult{nextAttempt: p.executor.Now().Add(p.config.Retry)}
		}
		return attemptResult{err: err}
	})
}

// removeSandboxesUnlessPodMayRun removes the sandboxes of a stopped pod, the oldest first, and then calls
// Config.Removed. If Config.Removable returns false or ctx has ended, it stops and returns nil. If the pod may
// still run and is removable, it removes nothing and returns errPodRuns, so that the pod is checked again.
func (p *Pods) removeSandboxesUnlessPodMayRun(ctx context.Context, uid types.UID) error {
	status, err := p.podStatus(ctx, uid)
	if err != nil {
		return err
	}
	if status.MayRun() {
		return p.retryErrorIfRemovable(uid) // A worker must terminate the pod gracefully.
	}
	for i := len(status.Sandboxes) - 1; i >= 0; i-- {
		if ctx.Err() != nil || !p.config.Removable(uid) {
			return nil
		}
		if err := p.removeSandbox(ctx, status.Sandboxes[i].ID); err != nil {
			return err
		}
	}
	if err := p.confirmRemoved(ctx, status); err != nil {
		return err
	}
	p.config.Removed(uid)
	return nil
}

// errPodRuns is returned for a pod that still runs. It is inspected again later.
var errPodRuns = errors.New("gc: the pod still runs")

// retryErrorIfRemovable returns errPodRuns if Config.Removable allows to remove the records of the pod, or nil.
// The caller has found that the pod may still run. The error makes it inspect the pod again later, because the
// runtime may show the exit late and no other event may follow.
func (p *Pods) retryErrorIfRemovable(uid types.UID) error {
	if !p.config.Removable(uid) {
		return nil
	}
	return errPodRuns
}

// confirmRemoved reads the pod's status from the runtime. It returns an error if a sandbox of the earlier
// status still exists. New sandboxes are ignored.
func (p *Pods) confirmRemoved(ctx context.Context, removed *runtime.PodStatus) error {
	status, err := p.podStatus(ctx, removed.UID)
	if err != nil {
		return err
	}
	for i := range status.Sandboxes {
		for j := range removed.Sandboxes {
			if status.Sandboxes[i].ID == removed.Sandboxes[j].ID {
				return fmt.Errorf("gc: sandbox %s still exists after it was removed", status.Sandboxes[i].ID)
			}
		}
	}
	return nil
}

// podStatus reads the status of a pod from the runtime, with a timeout.
func (p *Pods) podStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return fetchPodStatus(ctx, p.executor, p.config.Runtime, uid, p.config.CallTimeout)
}

// fetchPodStatus calls PodStatus of the runtime with a timeout. If the runtime returns neither a status nor an
// error, it returns a status that has only the UID. It returns an error if the call fails.
func fetchPodStatus(ctx context.Context, exec executor.Executor, rt runtime.PodLister, uid types.UID, timeout time.Duration) (*runtime.PodStatus, error) {
	ctx, cancel := exec.WithDeadline(ctx, exec.Now().Add(timeout))
	defer cancel()
	status, err := rt.PodStatus(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("gc: pod status: %w", err)
	}
	if status == nil {
		status = &runtime.PodStatus{UID: uid}
	}
	return status, nil
}

// removeSandbox removes one sandbox. The end of ctx does not cancel the removal, because a cancelled removal
// may leave a half-removed sandbox. It returns nil if the sandbox does not exist.
func (p *Pods) removeSandbox(ctx context.Context, id string) error {
	ctx, cancel := p.executor.WithDeadline(executor.Detach(ctx), p.executor.Now().Add(p.config.CallTimeout))
	defer cancel()
	err := p.config.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("gc: remove sandbox %s: %w", id, err)
	}
	return nil
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields,
// or nil.
func (c *PodsConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfig("gc: PodsConfig")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Removable == nil, "Removable")
	setRetryDefaults(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
