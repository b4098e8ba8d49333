package gc

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// Defaults of LogsConfig.
const (
	// DefaultLogPeriod is how often logs are checked while containers run.
	DefaultLogPeriod = 10 * time.Second
	// DefaultMaxRotations is how many logs are rotated concurrently.
	DefaultMaxRotations = 2
)

// LogsConfig configures Logs. Store, Runtime and Seen are required.
type LogsConfig struct {
	// Store has the logs: a logfiles.Dir.
	Store LogStore
	// Runtime reopens a log after its rotation.
	Runtime runtime.LogReopener
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. It shows which containers run.
	// Reading it costs no call.
	Seen pleg.Generator
	// Policy defines the maximum size of a log and the number of its files. The zero value has the
	// kubelet's defaults: 10 MiB, and 5. A disabled policy is an error: Logs would have nothing to
	// do.
	Policy policy.Logs
	// Period is how often logs are checked while containers run; zero is
	// DefaultLogPeriod.
	Period time.Duration
	// CallTimeout limits each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRotations limits how many logs are rotated concurrently; zero is DefaultMaxRotations.
	MaxRotations int
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil
	// ignores it.
	Panicked func(call string, err error)
}

// LogStore manages the logs of containers: a logfiles.Dir.
type LogStore interface {
	// Due reports whether a log must be rotated: it has maxBytes or more. It is called for each
	// running container once per Period, by one caller, concurrently with Rotate. An error is
	// logged, and the log is checked again in the next Period.
	Due(l logfiles.Log, maxBytes int64) (bool, error)
	// Rotate renames a log and calls reopen, which makes the runtime write to a new file. If reopen
	// fails, Rotate restores the name. It is called by one caller at a time for each log,
	// concurrently for up to MaxRotations logs. After an error it is called again in the next
	// Period in which the log is due.
	Rotate(ctx context.Context, l logfiles.Log, p policy.Logs, now time.Time, reopen func(context.Context) error) error
}

// Logs rotates the logs of running containers. Changed may be called by any goroutine, also before
// Run and after it.
type Logs struct {
	config   LogsConfig
	once     runOnce
	guard    *contain.Guard
	executor executor.Executor
	wake     executor.Event
	group    *executor.Group
	mu       struct {
		sync.Mutex
		logs map[string]rotationState // by container ID
		busy int                      // rotations in progress
	}
}

// rotationState is the state of a log with a rotation in progress or a failure.
type rotationState struct {
	busy        bool
	lastFailure string
}

// NewLogs creates a rotator. It starts nothing before Run.
func NewLogs(config LogsConfig) (*Logs, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	g := newGuard(config.Clock, &config.Log, config.Panicked)
	l := &Logs{config: config, guard: g, executor: executor.Over(config.Clock)}
	l.wake, l.group = l.executor.NewEvent(), executor.NewGroup(l.executor)
	l.mu.logs = make(map[string]rotationState)
	return l, nil
}

// Changed reports a new snapshot, which may show a running container. It never blocks.
func (l *Logs) Changed() { l.wake.Signal() }

// Run checks the logs of running containers every Period until ctx ends. It returns nil after the
// last rotation has been completed or undone. While no container runs, it waits for Changed. A
// second call returns runtime.ErrSecondRun.
func (l *Logs) Run(ctx context.Context) error {
	if err := l.once.markRunOrRefuseSecond(); err != nil {
		return err
	}
	defer l.group.Wait()
	for {
		var err error
		if l.Step(ctx) {
			err = l.executor.Sleep(ctx, l.config.Period)
		} else {
			err = l.wake.Wait(ctx)
		}
		if err != nil {
			return nil
		}
	}
}

// Step checks the log of every running container once, and starts the rotations that are due. It
// does not wait for them, because the compression of a large log takes long. It reports whether any
// container runs.
func (l *Logs) Step(ctx context.Context) bool {
	now := l.executor.Now()
	running := make(map[string]bool)
	for _, pod := range l.config.Seen.Pods() {
		status, err := l.config.Seen.Get(pod.UID)
		if err != nil || status == nil {
			continue // The pod is checked when it can be observed again.
		}
		ref := runtime.PodRef{UID: status.UID, Name: status.Name, Namespace: status.Namespace}
		for i := range status.Containers {
			c := &status.Containers[i]
			if c.State != runtime.StateRunning || ctx.Err() != nil {
				continue
			}
			running[c.ID] = true
			l.startRotationIfDue(ctx, c.ID, logfiles.Log{Pod: ref, Container: c.Name, Attempt: c.Attempt}, now)
		}
	}
	l.deleteStateOfStopped(running)
	return len(running) > 0
}

// startRotationIfDue starts the rotation of a log in the background if the store says that it is due. It does
// nothing if the log is already being rotated or MaxRotations rotations are in progress. A failure is logged.
func (l *Logs) startRotationIfDue(ctx context.Context, id string, log logfiles.Log, now time.Time) {
	due, err := contain.CallWithResult(l.guard, "Store.Due", func() (bool, error) { return l.config.Store.Due(log, l.config.Policy.MaxBytes) })
	switch {
	case err != nil:
		l.logAndStoreRotationResult(ctx, id, log, err)
	case due && l.reserveRotation(id):
		l.group.Go(func() {
			err := l.rotateLog(ctx, id, log, now)
			l.releaseRotation(id)
			l.logAndStoreRotationResult(ctx, id, log, err)
		})
	}
}

// rotateLog rotates one log through Store.Rotate; the runtime then opens a new file. It returns a panic of the
// store as an error.
func (l *Logs) rotateLog(ctx context.Context, id string, log logfiles.Log, now time.Time) (err error) {
	defer l.guard.Recover("Store.Rotate", &err)
	return l.config.Store.Rotate(ctx, log, l.config.Policy, now, func(ctx context.Context) error {
		ctx, cancel := l.executor.WithDeadline(ctx, l.executor.Now().Add(l.config.CallTimeout))
		defer cancel()
		return l.reopenLog(ctx, id)
	})
}

// reopenLog calls the runtime's ReopenContainerLog. It returns a panic of the runtime as an error.
func (l *Logs) reopenLog(ctx context.Context, id string) (err error) {
	defer l.guard.Recover("Runtime.ReopenContainerLog", &err)
	return l.config.Runtime.ReopenContainerLog(ctx, id)
}

// reserveRotation records that a log is being rotated and counts it against MaxRotations. It returns false, and
// records nothing, if the log is already being rotated or MaxRotations is reached.
func (l *Logs) reserveRotation(id string) (reserved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.logs[id]
	if r.busy || l.mu.busy == l.config.MaxRotations {
		return false
	}
	l.mu.busy++
	r.busy = true
	l.mu.logs[id] = r
	return true
}

// releaseRotation records that a log is not being rotated any longer, and decreases the number of rotations in
// progress.
func (l *Logs) releaseRotation(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.busy--
	r := l.mu.logs[id]
	r.busy = false
	l.mu.logs[id] = r
}

// logAndStoreRotationResult logs the result of a rotation and stores its failure. A failure is logged as a
// warning if it differs from the last one and ctx has not ended, and at debug level if not. A success is logged
// at debug level and clears the failure.
func (l *Logs) logAndStoreRotationResult(ctx context.Context, id string, log logfiles.Log, err error) {
	if err == nil {
		l.storeFailure(id, "")
		l.config.Log.Debug("a log was rotated", "uid", log.Pod.UID, "container", log.Container, "attempt", log.Attempt)
		return
	}
	level := slog.LevelDebug
	if l.storeFailure(id, err.Error()) && ctx.Err() == nil {
		level = slog.LevelWarn
	}
	l.config.Log.Log(ctx, level, "a log could not be rotated; retrying",
		"uid", log.Pod.UID, "container", log.Container, "attempt", log.Attempt, "err", err)
}

// storeFailure stores the failure text of a log, or an empty string after a success. It reports whether the
// text differs from the last one.
func (l *Logs) storeFailure(id, failure string) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.logs[id]
	isNew = r.lastFailure != failure
	r.lastFailure = failure
	l.mu.logs[id] = r
	return isNew
}

// deleteStateOfStopped deletes the rotation state of each container that is not in running and whose log is not
// being rotated.
func (l *Logs) deleteStateOfStopped(running map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.mu.logs, func(id string, r rotationState) bool { return !running[id] && !r.busy })
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields,
// or nil.
func (c *LogsConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfig("gc: LogsConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Seen == nil, "Seen")
	done.FaultIf(c.Policy.IsDisabled(), "Policy is disabled")
	done.FaultIf(c.Policy.MaxFiles == 1, "Policy.MaxFiles is less than 2")
	contain.DefaultNumber(done, "Period", &c.Period, DefaultLogPeriod)
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	contain.DefaultNumber(done, "MaxRotations", &c.MaxRotations, DefaultMaxRotations)
	c.Policy = c.Policy.Complete()
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
