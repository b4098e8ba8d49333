package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// ContainersConfig configures Containers. Runtime, Seen and Living are required.
type ContainersConfig struct {
	// Runtime has the records. PodStatus, RemoveSandbox and RemoveContainer are called,
	// concurrently for different pods, each with a timeout of CallTimeout. After an error the pod
	// is retried with a backoff. After a removal the pod is read again: a record that still exists
	// is a failure too.
	Runtime runtime.Runtime
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. Reading it costs no call. The
	// runtime is called only if the snapshot shows something to remove.
	Seen pleg.Generator
	// Logs has the logs of containers: a logfiles.Dir. The logs of an attempt are removed right
	// before its record. The record stays if its logs cannot be removed. Nil: the logs stay until
	// their pod is removed.
	Logs AttemptLogs
	// Living reports whether a pod belongs to this node and keeps its records. It is called right
	// before each removal, concurrently, and must not block. It returns false for a pod that Pods
	// removes.
	Living func(uid types.UID) bool
	// Removed, if set, is called after a record of a pod was removed, concurrently. It must not
	// block.
	Removed func(uid types.UID)
	// Delay is how long after a change a pod is checked. Several exits then cost one check, and the
	// cleanup does not compete with the reaction to the exits. Zero is DefaultDelay.
	Delay time.Duration
	// Policy defines how long dead containers of existing pods are kept. The zero value has the
	// kubelet's defaults: one per container name.
	Policy policy.Containers
	// Retry is the backoff after a failed removal; zero is DefaultRetry. It doubles with each
	// failure, up to MaxRetry; zero is DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout limits each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRemovals limits for how many pods removals run concurrently; zero is DefaultMaxRemovals.
	MaxRemovals int
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil
	// ignores it.
	Panicked func(call string, err error)
}

// AttemptLogs removes logs of container attempts: a logfiles.Dir.
type AttemptLogs interface {
	// RemoveAttempts removes the logs of a container's attempts that are not in keep and are older
	// than the newest attempt in keep. It is called right before the record of an attempt is
	// removed, concurrently for different pods. After an error the record stays, and the pod is
	// retried with a backoff.
	RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error
}

// Containers removes dead containers and sandboxes of pods that still exist. Changed may be called
// by any goroutine, also before Run and after it.
type Containers struct {
	config     ContainersConfig
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewContainers creates a collector. It starts nothing before Run.
func NewContainers(config ContainersConfig) (*Containers, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked, delay: config.Delay,
		name: "gc of containers", failureMessage: "dead containers of a pod could not be removed; retrying",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	return &Containers{config: config, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// Changed enqueues a pod that may have something to remove. It is called after each sync of the
// pod. It never blocks.
func (c *Containers) Changed(uid types.UID) { c.retryQueue.enqueueUnlessWaiting([]types.UID{uid}) }

// Run removes dead containers until ctx ends, and then returns nil. While nothing changes, it wakes
// only when a container reaches an age of Policy. The end of ctx does not cancel a removal that was
// sent. A second call returns runtime.ErrSecondRun.
func (c *Containers) Run(ctx context.Context) error {
	return c.retryQueue.runStepWhenDue(ctx, c.Step)
}

// Step processes every pod that is due, and returns after their removals.
func (c *Containers) Step(ctx context.Context) {
	c.retryQueue.attemptDuePods(ctx, c.config.MaxRemovals, c.collectPod)
}

// collectPod removes the dead containers and unused sandboxes of one pod that the policy chooses, and returns
// when more become removable. The PLEG's cached status decides whether to call the runtime, and the status from
// the runtime decides what to remove. It removes nothing once Living returns false for the pod.
func (c *Containers) collectPod(ctx context.Context, uid types.UID) attemptResult {
	if !c.config.Living(uid) {
		return attemptResult{}
	}
	status, err := c.config.Seen.Get(uid)
	if err != nil {
		return attemptResult{} // The pod is synced when it can be observed, and Changed follows.
	}
	removals := c.decideRemovalsAndEnqueueOtherDuePods(status)
	if removals.Empty() {
		return attemptResult{nextAttempt: removals.Next}
	}
	if status, err = fetchPodStatus(ctx, c.executor, c.config.Runtime, uid, c.config.CallTimeout); err != nil {
		return attemptResult{err: err}
	}
	for range maxRemovalRounds {
		removals = c.decideRemovalsAndEnqueueOtherDuePods(status)
		if removals.Empty() || ctx.Err() != nil || !c.config.Living(uid) {
			return attemptResult{nextAttempt: removals.Next}
		}
		if status, err = c.removeContainersAndSandboxes(ctx, status, &removals); err != nil {
			return attemptResult{err: err}
		}
	}
	return attemptResult{err: errors.New("gc: the runtime shows more dead containers after each removal")}
}

// maxRemovalRounds limits how often one attempt reads and removes the dead containers of a pod. If
// the runtime still shows more, the pod is retried with a backoff, so that other pods are not
// delayed.
const maxRemovalRounds = 10

// decideRemovalsAndEnqueueOtherDuePods applies the policy to a pod and returns what to remove from it. If the policy
// has a limit for all pods, it also enqueues the other pods that have something to remove.
func (c *Containers) decideRemovalsAndEnqueueOtherDuePods(status *runtime.PodStatus) policy.Removals {
	pods := []*runtime.PodStatus{status}
	if c.config.Policy.MaxContainers > 0 {
		for _, p := range c.config.Seen.Pods() {
			if p.UID == status.UID || !c.config.Living(p.UID) {
				continue
			}
			if other, err := c.config.Seen.Get(p.UID); err == nil {
				pods = append(pods, other)
			}
		}
	}
	removals := c.config.Policy.Decide(pods, c.executor.Now())
	var others []types.UID
	for i := 1; i < len(pods); i++ {
		if !removals[i].Empty() {
			others = append(others, pods[i].UID)
		}
	}
	c.retryQueue.enqueueUnlessWaiting(others)
	return removals[0]
}

// removeContainersAndSandboxes removes the chosen containers, with their logs, and then the chosen sandboxes,
// and calls Removed. It skips the rest if ctx ends or Living returns false for the pod. It returns the pod's
// new status from the runtime. It returns an error if a call fails or if a chosen container or sandbox still
// exists.
func (c *Containers) removeContainersAndSandboxes(ctx context.Context, status *runtime.PodStatus, removals *policy.Removals) (*runtime.PodStatus, error) {
	uid := status.UID
	for _, id := range removals.Containers {
		if ctx.Err() != nil || !c.config.Living(uid) {
			break
		}
		if err := c.removeAttemptLogs(status, removals.Containers, id); err != nil {
			return nil, fmt.Errorf("gc: logs of container %s: %w", id, err)
		}
		err := c.callRemovalWithTimeout(ctx, func(ctx context.Context) error {
			return c.config.Runtime.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id})
		})
		if err != nil {
			return nil, fmt.Errorf("gc: remove container %s: %w", id, err)
		}
	}
	for _, id := range removals.Sandboxes {
		if ctx.Err() != nil || !c.config.Living(uid) {
			break
		}
		err := c.callRemovalWithTimeout(ctx, func(ctx context.Context) error {
			return c.config.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
		})
		if err != nil {
			return nil, fmt.Errorf("gc: remove sandbox %s: %w", id, err)
		}
	}
	c.config.Removed(uid)
	return c.fetchStatusAndFailIfNotRemoved(ctx, uid, removals)
}

// removeAttemptLogs removes the logs of a container that is about to be removed, and of older attempts that the
// runtime does not have. It keeps the logs of the remaining containers and of newer attempts, because the file
// name of the newest log shows the number of the last attempt. It does nothing if Config.Logs is nil (KC-17).
func (c *Containers) removeAttemptLogs(status *runtime.PodStatus, removing []string, id string) error {
	i := slices.IndexFunc(status.Containers, func(s runtime.ContainerStatus) bool { return s.ID == id })
	if c.config.Logs == nil || i < 0 {
		return nil
	}
	name := status.Containers[i].Name
	var keep []uint32
	for j := range status.Containers {
		if s := &status.Containers[j]; s.Name == name && !slices.Contains(removing, s.ID) {
			keep = append(keep, s.Attempt)
		}
	}
	return c.config.Logs.RemoveAttempts(runtime.PodRef{UID: status.UID, Name: status.Name, Namespace: status.Namespace}, name, keep)
}

// fetchStatusAndFailIfNotRemoved reads the status of the pod from the runtime and returns it. It returns an
// error if a container or sandbox of removals still exists, unless the pod no longer belongs to this node
// (Config.Living returns false).
func (c *Containers) fetchStatusAndFailIfNotRemoved(ctx context.Context, uid types.UID, removals *policy.Removals) (*runtime.PodStatus, error) {
	status, err := fetchPodStatus(ctx, c.executor, c.config.Runtime, uid, c.config.CallTimeout)
	if err != nil {
		return nil, err
	}
	for i := range status.Containers {
		if id := status.Containers[i].ID; slices.Contains(removals.Containers, id) && c.config.Living(uid) {
			return nil, fmt.Errorf("gc: container %s still exists after it was removed", id)
		}
	}
	for i := range status.Sandboxes {
		if id := status.Sandboxes[i].ID; slices.Contains(removals.Sandboxes, id) && c.config.Living(uid) {
			return nil, fmt.Errorf("gc: sandbox %s still exists after it was removed", id)
		}
	}
	return status, nil
}

// callRemovalWithTimeout calls remove, which removes a container or sandbox, with the timeout CallTimeout. The
// end of ctx does not cancel the removal. It returns nil if remove returns ErrNotFound.
func (c *Containers) callRemovalWithTimeout(ctx context.Context, remove func(context.Context) error) error {
	ctx, cancel := c.executor.WithDeadline(executor.Detach(ctx), c.executor.Now().Add(c.config.CallTimeout))
	defer cancel()
	if err := remove(ctx); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	return nil
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields,
// or nil.
func (c *ContainersConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfig("gc: ContainersConfig")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Seen == nil, "Seen")
	done.MissingIf(c.Living == nil, "Living")
	done.FaultIf(c.Policy.MinAge < 0, "Policy.MinAge is negative")
	done.FaultIf(c.Policy.MaxAge < 0, "Policy.MaxAge is negative")
	contain.DefaultNumber(done, "Delay", &c.Delay, DefaultDelay)
	setRetryDefaults(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
