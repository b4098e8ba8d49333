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

// DefaultMaxDirectories limits how many pods with directories one search returns.
const DefaultMaxDirectories = 256

// DirectoriesConfig configures Directories. Store, Runtime and Gone are required.
type DirectoriesConfig struct {
	// Store has the directories: a logfiles.Dir or a volumes.Dir.
	Store DirectoryStore
	// Runtime has the records. PodStatus is called right before each removal: a pod with records
	// keeps its directories.
	Runtime runtime.PodLister
	// Gone reports whether a pod is neither desired nor has a worker. It is called for each pod
	// with a directory, again right before each removal, and last by the store while the store
	// prevents a SetUp of the pod. It is called concurrently and must not block.
	Gone func(uid types.UID) bool
	// Delay is how long after Changed directories are searched; zero is DefaultDelay.
	Delay time.Duration
	// Retry is the backoff after a failure; zero is DefaultRetry. It doubles with each failure, up
	// to MaxRetry; zero is DefaultMaxRetry.
	Retry, MaxRetry time.Duration
	// CallTimeout limits each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxDirectories limits how many pods with directories one search returns; zero is
	// DefaultMaxDirectories.
	MaxDirectories int
	// MaxRemovals limits for how many pods removals run concurrently; zero is DefaultMaxRemovals.
	MaxRemovals int
	// Removed, if set, is called after the directory of a pod was removed, without a lock,
	// concurrently for different pods.
	Removed func(uid types.UID)
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil
	// ignores it.
	Panicked func(call string, err error)
}

// DirectoryStore manages directories of pods: a logfiles.Dir or a volumes.Dir.
type DirectoryStore interface {
	// Pods returns the pods that have a directory and for which include returns true, at
	// most limit of them. It is called after Changed, by one caller at a time, concurrently with
	// Remove. After an error it is called again, with a backoff.
	Pods(include func(types.UID) bool, limit int) ([]types.UID, error)
	// Remove removes the directory of a pod. It calls gone while no SetUp of the pod can run, and
	// keeps everything if gone returns false. It is called concurrently for different pods, with a
	// timeout of CallTimeout. It may be repeated; a pod without directory is no error. After an
	// error it is called again, with a backoff.
	Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error
}

// Sweeper is a DirectoryStore that moves a directory to a trash before it removes the directory.
// After a failed removal or a crash, the trash contains files that belong to no pod. The method is
// optional.
type Sweeper interface {
	// Sweep removes the trash of former removals. It returns how many entries it could not remove,
	// and the first error. It is called after each call of Pods, by one caller at a time, with a
	// timeout of CallTimeout. After an error it is called again, with a backoff.
	Sweep(ctx context.Context) (left int, err error)
}

// Directories removes the directories of removed pods, also of former agents. Changed may be called
// by any goroutine, also before Run and after it.
type Directories struct {
	config     DirectoriesConfig
	sweeper    Sweeper // nil: the store is no Sweeper
	executor   executor.Executor
	retryQueue *retryQueue
}

// NewDirectories creates a collector. It starts nothing before Run.
func NewDirectories(config DirectoriesConfig) (*Directories, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	retryQueue := newRetryQueue(retryConfig{
		clock: config.Clock, retry: config.Retry, maxRetry: config.MaxRetry, log: &config.Log, panicked: config.Panicked, delay: config.Delay,
		name: "gc of directories", failureMessage: "directories of removed pods could not be removed; retrying",
	})
	config.Runtime = contain.NewRuntime(retryQueue.guard, config.Runtime)
	config.Removed = contain.Hook1(retryQueue.guard, "Removed", config.Removed)
	sweeper, _ := config.Store.(Sweeper)
	return &Directories{config: config, sweeper: sweeper, executor: retryQueue.executor, retryQueue: retryQueue}, nil
}

// listKey is the queue key of the search for directories. No pod has that UID.
const listKey types.UID = ""

// emptyTrashKey is the queue key of the removal of the trash. No pod has that UID.
const emptyTrashKey types.UID = "."

// Changed requests a search for directories of removed pods. It never blocks.
func (d *Directories) Changed() { d.retryQueue.enqueueUnlessWaiting([]types.UID{listKey}) }

// Run removes directories until ctx ends, and then returns nil. Without a call of Changed it wakes
// only to retry failures. A second call returns runtime.ErrSecondRun.
func (d *Directories) Run(ctx context.Context) error {
	return d.retryQueue.runStepWhenDue(ctx, d.Step)
}

// Step processes the searches and removals that are due, and returns after them.
func (d *Directories) Step(ctx context.Context) {
	d.retryQueue.attemptDuePods(ctx, d.config.MaxRemovals, d.listOrRemoveDirectories)
}

// listOrRemoveDirectories makes the attempt for one key of the retry queue. listKey enqueues the pods whose
// directories may be removed, and emptyTrashKey continues interrupted removals. Any other key is a pod UID: the
// directories of that pod are removed if it is gone.
func (d *Directories) listOrRemoveDirectories(ctx context.Context, uid types.UID) attemptResult {
	switch uid {
	case listKey:
		return d.enqueueRemovableDirs()
	case emptyTrashKey:
		return attemptResult{err: d.emptyTrash(ctx)}
	}
	return attemptResult{err: d.removeDirectoriesIfGone(ctx, uid)}
}

// enqueueRemovableDirs enqueues the pods whose directories may be removed. If the store can do so, it also
// enqueues the deletion of directories whose removal was interrupted. If it has found MaxDirectories pods, it
// requests another search after Retry.
func (d *Directories) enqueueRemovableDirs() attemptResult {
	uids, err := d.config.Store.Pods(d.config.Gone, d.config.MaxDirectories)
	if err != nil {
		return attemptResult{err: fmt.Errorf("gc: search for directories: %w", err)}
	}
	d.retryQueue.enqueueUnlessWaiting(uids)
	if d.sweeper != nil {
		d.retryQueue.enqueueUnlessWaiting([]types.UID{emptyTrashKey})
	}
	if len(uids) < d.config.MaxDirectories {
		return attemptResult{}
	}
	return attemptResult{nextAttempt: d.executor.Now().Add(d.config.Retry)}
}

// removeDirectoriesIfGone removes the directories of a pod, and calls Removed, if Gone returns true and the
// runtime has no sandbox or container of the pod. It returns nil also if the directories stay for one of these
// reasons.
func (d *Directories) removeDirectoriesIfGone(ctx context.Context, uid types.UID) error {
	if !d.config.Gone(uid) {
		return nil
	}
	status, err := fetchPodStatus(ctx, d.executor, d.config.Runtime, uid, d.config.CallTimeout)
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

// emptyTrash continues removals of directories that were interrupted. If some remain, it returns an error with
// their number, so that each change of the number is logged. It also returns an error if it cannot list them.
func (d *Directories) emptyTrash(ctx context.Context) error {
	ctx, cancel := d.executor.WithDeadline(ctx, d.executor.Now().Add(d.config.CallTimeout))
	defer cancel()
	left, err := d.sweeper.Sweep(ctx)
	switch {
	case err == nil:
		return nil
	case left == 0: // Sweep could not read the trash.
		return fmt.Errorf("gc: search for incomplete removals: %w", err)
	}
	return fmt.Errorf("gc: %d removals are incomplete: %w", left, err)
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields,
// or nil.
func (c *DirectoriesConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfig("gc: DirectoriesConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Gone == nil, "Gone")
	contain.DefaultNumber(done, "Delay", &c.Delay, DefaultDelay)
	setRetryDefaults(done, &c.Retry, &c.MaxRetry, &c.CallTimeout)
	contain.DefaultNumber(done, "MaxDirectories", &c.MaxDirectories, DefaultMaxDirectories)
	contain.DefaultNumber(done, "MaxRemovals", &c.MaxRemovals, DefaultMaxRemovals)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
