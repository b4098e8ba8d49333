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

// ContainersConfig is what Containers need. Runtime, Seen and Living are
// required.
type ContainersConfig struct {
	// Runtime has the records. PodStatus, RemoveSandbox and RemoveContainer are called,
	// concurrently for different pods, each with a deadline of CallTimeout. After an error the
	// pod is tried again with a backoff. The pod is read again after a removal: a record that
	// is still there then is a failure too.
	Runtime runtime.Runtime
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. It costs
	// nothing to look at, and decides whether the runtime is asked at all.
	Seen pleg.Generator
	// Logs has the logs of containers: a logfiles.Dir. Those of an attempt go
	// right before its record, which stays as long as they cannot be removed. Nil:
	// they stay until their pod has gone.
	Logs AttemptLogs
	// Living is asked right before each removal: whether the pod is one of ours,
	// and will not lose all its records anyway. It is called concurrently and
	// must not block.
	Living func(uid types.UID) bool
	// Removed, if set, is called after something of a pod was removed,
	// concurrently. It must not block.
	Removed func(uid types.UID)
	// Delay is how long after a change a pod is checked, so that several ends cost one
	// check and the cleanup does not compete with the reaction to them; zero is
	// DefaultDelay.
	Delay time.Duration
	// Policy says how long dead containers of pods that are still there are kept. The
	// zero value has the kubelet's numbers: one of each name.
	Policy policy.Containers
	// Retry is how long a removal that failed waits for the next try; zero is
	// DefaultRetry. It doubles with each failure, up to MaxRetry; zero is
	// DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRemovals is of how many pods something is removed at once; zero is
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

// AttemptLogs removes logs of containers: a logfiles.Dir.
type AttemptLogs interface {
	// RemoveAttempts removes the logs of the attempts at a container that are not in
	// keep and are older than the newest that is. It is called right before the record
	// of an attempt is removed, concurrently for different pods. After an error the
	// record stays, and the pod is tried again with a backoff.
	RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error
}

// Containers removes dead containers and sandboxes of pods that are still
// there. Changed may be called from anywhere, before Run and after it as well.
type Containers struct {
	config     ContainersConfig
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewContainers makes a collector. It runs nothing until Run is called.
func NewContainers(config ContainersConfig) (*Containers, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked, delay: config.Delay,
		call: "gc of containers", what: "what is dead of a pod could not be removed and will be tried again",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	return &Containers{config: config, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// Changed says that a pod may have something to remove: after each of its
// syncs, say. It never blocks.
func (c *Containers) Changed(uid types.UID) { c.retryQueue.add([]types.UID{uid}) }

// Run removes what is dead until ctx ends, and returns nil then. While nothing
// changes it wakes up only for what Policy keeps for a time. A call to the
// runtime that removes something is not cut short by the end of ctx. A second
// call returns runtime.ErrSecondRun.
func (c *Containers) Run(ctx context.Context) error {
	return c.retryQueue.run(ctx, c.Step)
}

// Step looks at every pod that is due, and returns when what is dead of them is
// removed.
func (c *Containers) Step(ctx context.Context) { c.retryQueue.step(ctx, c.config.MaxRemovals, c.try) }

// try removes what is dead of one pod. The snapshot that others have says
// whether there is anything; what it is, is asked of the runtime.
func (c *Containers) try(ctx context.Context, uid types.UID) outcome {
	if !c.config.Living(uid) {
		return outcome{}
	}
	status, err := c.config.Seen.Get(uid)
	if err != nil {
		return outcome{} // It is synced when it can be seen, and asked about again.
	}
	removals := c.decide(status)
	if removals.Empty() {
		return outcome{next: removals.Next}
	}
	if status, err = look(ctx, c.executor, c.config.Runtime, uid, c.config.CallTimeout); err != nil {
		return outcome{err: err}
	}
	for range maxRounds {
		removals = c.decide(status)
		if removals.Empty() || ctx.Err() != nil || !c.config.Living(uid) {
			return outcome{next: removals.Next}
		}
		if status, err = c.remove(ctx, status, &removals); err != nil {
			return outcome{err: err}
		}
	}
	return outcome{err: errors.New("gc: after each removal the runtime shows more that is dead")}
}

// maxRounds is how often what is dead of a pod is removed before others have their turn: a
// runtime that always shows more is asked again after a backoff.
const maxRounds = 10

// decide applies the policy to a pod; where it counts all pods together, among
// them. Others of which there is too much are looked at as well.
func (c *Containers) decide(status *runtime.PodStatus) policy.Removals {
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
	c.retryQueue.add(others)
	return removals[0]
}

// remove performs what was decided, and looks at what has come of it: a
// runtime's word that something is removed is not enough.
func (c *Containers) remove(ctx context.Context, status *runtime.PodStatus, r *policy.Removals) (*runtime.PodStatus, error) {
	uid := status.UID
	for _, id := range r.Containers {
		if ctx.Err() != nil || !c.config.Living(uid) {
			break
		}
		if err := c.removeLogs(status, r.Containers, id); err != nil {
			return nil, fmt.Errorf("gc: logs of container %s: %w", id, err)
		}
		err := c.call(ctx, func(ctx context.Context) error {
			return c.config.Runtime.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id})
		})
		if err != nil {
			return nil, fmt.Errorf("gc: remove container %s: %w", id, err)
		}
	}
	for _, id := range r.Sandboxes {
		if ctx.Err() != nil || !c.config.Living(uid) {
			break
		}
		err := c.call(ctx, func(ctx context.Context) error {
			return c.config.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
		})
		if err != nil {
			return nil, fmt.Errorf("gc: remove sandbox %s: %w", id, err)
		}
	}
	c.config.Removed(uid)
	return c.confirm(ctx, uid, r)
}

// removeLogs drops the logs of a container whose record is about to go, and of
// those that went before without (KC-17). Those of the records that stay are
// kept, and so is what is newer: the number of the last attempt is in its name.
func (c *Containers) removeLogs(status *runtime.PodStatus, going []string, id string) error {
	i := slices.IndexFunc(status.Containers, func(s runtime.ContainerStatus) bool { return s.ID == id })
	if c.config.Logs == nil || i < 0 {
		return nil
	}
	name := status.Containers[i].Name
	var keep []uint32
	for j := range status.Containers {
		if s := &status.Containers[j]; s.Name == name && !slices.Contains(going, s.ID) {
			keep = append(keep, s.Attempt)
		}
	}
	return c.config.Logs.RemoveAttempts(runtime.PodRef{UID: status.UID, Name: status.Name, Namespace: status.Namespace}, name, keep)
}

// confirm looks at the pod after a removal.
func (c *Containers) confirm(ctx context.Context, uid types.UID, r *policy.Removals) (*runtime.PodStatus, error) {
	status, err := look(ctx, c.executor, c.config.Runtime, uid, c.config.CallTimeout)
	if err != nil {
		return nil, err
	}
	for i := range status.Containers {
		if id := status.Containers[i].ID; slices.Contains(r.Containers, id) && c.config.Living(uid) {
			return nil, fmt.Errorf("gc: container %s is still there after it was removed", id)
		}
	}
	for i := range status.Sandboxes {
		if id := status.Sandboxes[i].ID; slices.Contains(r.Sandboxes, id) && c.config.Living(uid) {
			return nil, fmt.Errorf("gc: sandbox %s is still there after it was removed", id)
		}
	}
	return status, nil
}

// call bounds a removal. Once sent, it runs to its own deadline. What is gone is
// removed.
func (c *Containers) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := c.executor.WithDeadline(executor.Detach(ctx), c.executor.Now().Add(c.config.CallTimeout))
	defer cancel()
	if err := f(ctx); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	return nil
}

func (c *ContainersConfig) complete() error {
	done := contain.CheckConfig("gc: ContainersConfig")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Seen == nil, "Seen")
	done.MissingIf(c.Living == nil, "Living")
	done.FaultIf(c.Policy.MinAge < 0, "Policy.MinAge is negative")
	done.FaultIf(c.Policy.MaxAge < 0, "Policy.MaxAge is negative")
	contain.DefaultNumber(done, "Delay", &c.Delay, DefaultDelay)
	times(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
