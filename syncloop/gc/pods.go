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

// PodsConfig is what Pods need. Runtime and Removable are required.
type PodsConfig struct {
	// Runtime has the records. PodStatus and RemoveSandbox are called, concurrently for
	// different pods, each with a deadline of CallTimeout. After an error the pod is tried
	// again with a backoff.
	Runtime runtime.Runtime
	// Removable is asked right before each removal. It is called concurrently
	// and must not block.
	Removable func(uid types.UID) bool
	// Removed, if set, is called after all records of a pod are gone,
	// concurrently. It must not block.
	Removed func(uid types.UID)
	// Retry is how long a removal that failed waits for the next try; zero is
	// DefaultRetry. It doubles with each failure, up to MaxRetry; zero is
	// DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRemovals is how many pods are removed at once; zero is
	// DefaultMaxRemovals.
	MaxRemovals int
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// Pods removes the records of pods that are gone. Discard may be called from
// anywhere, before Run and after it as well.
type Pods struct {
	config     PodsConfig
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewPods makes a collector. It runs nothing until Run is called.
func NewPods(config PodsConfig) (*Pods, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked,
		call: "gc of pods", what: "what is left of a pod could not be removed and will be tried again",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	return &Pods{config: config, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// Discard hands over pods whose records may go. It never blocks, and a pod
// that waits already keeps its place and its backoff.
func (p *Pods) Discard(uids []types.UID) { p.retryQueue.add(uids) }

// Run removes what is handed over until ctx ends, and returns nil then. A call
// to the runtime that removes something is not cut short by that, only by its
// own timeout. A second call returns runtime.ErrSecondRun.
func (p *Pods) Run(ctx context.Context) error {
	return p.retryQueue.run(ctx, p.Step)
}

// Step tries to remove every pod that is due, several at once, and returns
// when it has.
func (p *Pods) Step(ctx context.Context) {
	p.retryQueue.step(ctx, p.config.MaxRemovals, func(ctx context.Context, uid types.UID) outcome {
		err := p.remove(ctx, uid)
		if errors.Is(err, errRuns) {
			return outcome{next: p.executor.Now().Add(p.config.Retry)}
		}
		return outcome{err: err}
	})
}

// remove drops the sandboxes of a pod, oldest first so that a crash in the
// middle leaves the record that tells most. nil also means that the pod must
// be kept after all.
func (p *Pods) remove(ctx context.Context, uid types.UID) error {
	status, err := p.look(ctx, uid)
	if err != nil {
		return err
	}
	if status.MayRun() {
		return p.kept(uid) // To end it gently is not for us.
	}
	for i := len(status.Sandboxes) - 1; i >= 0; i-- {
		if ctx.Err() != nil || !p.config.Removable(uid) {
			return nil
		}
		if err := p.drop(ctx, status.Sandboxes[i].ID); err != nil {
			return err
		}
	}
	if err := p.confirm(ctx, status); err != nil {
		return err
	}
	p.config.Removed(uid)
	return nil
}

// errRuns says that a pod may be removed as soon as the runtime shows that it has ended.
var errRuns = errors.New("gc: something of the pod runs")

// kept: whoever handed the pod over did not know that it runs, or the runtime is late to
// show that it has ended. In case that nobody hears of its end it is looked at again.
func (p *Pods) kept(uid types.UID) error {
	if !p.config.Removable(uid) {
		return nil
	}
	return errRuns
}

// confirm looks at the pod again: a runtime's word that a sandbox is removed is
// no reason to forget it. What has come since is for the next time.
func (p *Pods) confirm(ctx context.Context, removed *runtime.PodStatus) error {
	status, err := p.look(ctx, removed.UID)
	if err != nil {
		return err
	}
	for i := range status.Sandboxes {
		for j := range removed.Sandboxes {
			if status.Sandboxes[i].ID == removed.Sandboxes[j].ID {
				return fmt.Errorf("gc: sandbox %s is still there after it was removed", status.Sandboxes[i].ID)
			}
		}
	}
	return nil
}

func (p *Pods) look(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return look(ctx, p.executor, p.config.Runtime, uid, p.config.CallTimeout)
}

// look asks the runtime what there is of a pod.
func look(ctx context.Context, t executor.Executor, rt runtime.PodLister, uid types.UID, within time.Duration) (*runtime.PodStatus, error) {
	ctx, cancel := t.WithDeadline(ctx, t.Now().Add(within))
	defer cancel()
	status, err := rt.PodStatus(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("gc: look at the pod: %w", err)
	}
	if status == nil {
		status = &runtime.PodStatus{UID: uid}
	}
	return status, nil
}

// drop removes one sandbox. Once sent, the call runs to its own deadline: a
// cancelled removal may leave half a sandbox behind.
func (p *Pods) drop(ctx context.Context, id string) error {
	ctx, cancel := p.executor.WithDeadline(executor.Detach(ctx), p.executor.Now().Add(p.config.CallTimeout))
	defer cancel()
	err := p.config.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("gc: remove sandbox %s: %w", id, err)
	}
	return nil
}

func (c *PodsConfig) complete() error {
	done := contain.CheckConfig("gc: PodsConfig")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Removable == nil, "Removable")
	times(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
