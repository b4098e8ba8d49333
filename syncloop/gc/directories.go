package gc

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// DefaultMaxDirectories is of how many pods directories are looked for at once.
const DefaultMaxDirectories = 256

// DirectoriesConfig is what Directories need. Store, Runtime and Gone are
// required.
type DirectoriesConfig struct {
	// Store has the directories: a logfiles.Dir or a volumes.Dir.
	Store DirectoryStore
	// Runtime is asked right before each removal whether it has anything of the
	// pod.
	Runtime runtime.PodLister
	// Gone reports whether a pod is neither desired nor worked on. It is asked for each
	// pod that has a directory, again right before each removal, and last by the store,
	// while that keeps the pod from being set up; concurrently, and it must not block.
	Gone func(uid types.UID) bool
	// Delay is how long after Changed directories are looked for; zero is
	// DefaultDelay.
	Delay time.Duration
	// Retry is how long what failed waits for the next try; zero is DefaultRetry.
	// It doubles with each failure, up to MaxRetry; zero is DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxDirectories is of how many pods directories are looked for at once; zero
	// is DefaultMaxDirectories.
	MaxDirectories int
	// MaxRemovals is of how many pods directories are removed at once; zero is
	// DefaultMaxRemovals.
	MaxRemovals int
	// Removed, if set, is called after the directory of a pod was removed, with its UID,
	// without a lock, concurrently for different pods.
	Removed func(uid types.UID)
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// DirectoryStore has directories of pods: a logfiles.Dir or a volumes.Dir.
type DirectoryStore interface {
	// Pods lists pods that have a directory and for which of answers true, at
	// most limit of them. It is called after Changed, by one caller at a time,
	// concurrently with Remove. After an error it is called again, with a backoff.
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
	// Remove removes the directory of a pod. It asks gone at the moment at which no
	// set-up of the pod can be under way, and keeps everything if that answers false.
	// It is called concurrently for different pods, with a deadline of CallTimeout. It
	// may be repeated; nothing to remove is no error. After an error it is called
	// again, with a backoff.
	Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error
}

// Sweeper is a DirectoryStore that moves what it removes out of the way first. A
// removal that failed or was cut short, by a crash too, leaves something that belongs
// to no pod. A store without this method is not asked for it.
type Sweeper interface {
	// Sweep removes what former removals have left. It returns how much of that is
	// left, and the first reason. It is called after each call of Pods, by one caller
	// at a time, with a deadline of CallTimeout; after an error again, with a backoff.
	Sweep(ctx context.Context) (left int, err error)
}

// Directories removes the directories that pods have left behind, those of
// former agents too. Changed may be called from anywhere, before Run and after
// it as well.
type Directories struct {
	config     DirectoriesConfig
	sweeper    Sweeper // nil: the store is none
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewDirectories makes a collector. It runs nothing until Run is called.
func NewDirectories(config DirectoriesConfig) (*Directories, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked, delay: config.Delay,
		call: "gc of directories", what: "directories of pods that are gone could not be removed and will be tried again",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	sweeper, _ := config.Store.(Sweeper)
	return &Directories{config: config, sweeper: sweeper, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// listing stands among the pods that are to be tried for the search for more. No
// pod has that UID.
const listing types.UID = ""

// sweeping stands among them for what former removals have left. No pod has that UID
// either.
const sweeping types.UID = "."

// Changed says that pods may have gone, or have been gone all along. It never
// blocks.
func (d *Directories) Changed() { d.retryQueue.add([]types.UID{listing}) }

// Run removes directories until ctx ends, and returns nil then. Without a call of
// Changed it wakes up only for what has failed. A second call returns runtime.ErrSecondRun.
func (d *Directories) Run(ctx context.Context) error {
	return d.retryQueue.run(ctx, d.Step)
}

// Step does what is due: it looks for directories, or removes some that were
// found, and returns when it has.
func (d *Directories) Step(ctx context.Context) {
	d.retryQueue.step(ctx, d.config.MaxRemovals, d.try)
}

func (d *Directories) try(ctx context.Context, uid types.UID) outcome {
	switch uid {
	case listing:
		return d.find()
	case sweeping:
		return outcome{err: d.sweep(ctx)}
	}
	return outcome{err: d.remove(ctx, uid)}
}

// find hands over the pods whose directories may go. If there are as many as are
// looked for at once there may be more.
func (d *Directories) find() outcome {
	uids, err := d.config.Store.Pods(d.config.Gone, d.config.MaxDirectories)
	if err != nil {
		return outcome{err: fmt.Errorf("gc: look for directories: %w", err)}
	}
	d.retryQueue.add(uids)
	if d.sweeper != nil {
		d.retryQueue.add([]types.UID{sweeping})
	}
	if len(uids) < d.config.MaxDirectories {
		return outcome{}
	}
	return outcome{next: d.executor.Now().Add(d.config.Retry)}
}

// remove drops the directories of one pod, if nothing is left of that. nil also
// means that they must be kept: its records go first, and that is a change.
func (d *Directories) remove(ctx context.Context, uid types.UID) error {
	if !d.config.Gone(uid) {
		return nil
	}
	status, err := look(ctx, d.executor, d.config.Runtime, uid, d.config.CallTimeout)
	if err != nil {
		return err
	}
	if len(status.Sandboxes)+len(status.Containers) > 0 || ctx.Err() != nil || !d.config.Gone(uid) {
		return nil
	}
	ctx, cancel := d.executor.WithDeadline(executor.Detach(ctx), d.executor.Now().Add(d.config.CallTimeout))
	defer cancel()
	went := false
	err = d.config.Store.Remove(ctx, uid, func(uid types.UID) bool {
		went = d.config.Gone(uid)
		return went
	})
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	if went {
		d.config.Removed(uid)
	}
	return nil
}

// sweep goes on with removals that were left half done. Each further one that is left
// is told of, so they cannot pile up unseen.
func (d *Directories) sweep(ctx context.Context) error {
	ctx, cancel := d.executor.WithDeadline(ctx, d.executor.Now().Add(d.config.CallTimeout))
	defer cancel()
	left, err := d.sweeper.Sweep(ctx)
	switch {
	case err == nil:
		return nil
	case left == 0: // It does not know.
		return fmt.Errorf("gc: look for former removals that are not complete: %w", err)
	}
	return fmt.Errorf("gc: %d former removals are not complete: %w", left, err)
}

func (c *DirectoriesConfig) complete() error {
	done := contain.CheckConfig("gc: DirectoriesConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Gone == nil, "Gone")
	contain.DefaultNumber(done, "Delay", &c.Delay, DefaultDelay)
	times(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxDirectories", &c.MaxDirectories, DefaultMaxDirectories)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
