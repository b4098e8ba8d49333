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
	// DefaultMaxRotations is how many logs are rotated at once.
	DefaultMaxRotations = 2
)

// LogsConfig is what Logs need. Store, Runtime and Seen are required.
type LogsConfig struct {
	// Store has the logs: a logfiles.Dir.
	Store LogStore
	// Runtime reopens a log that was rotated.
	Runtime runtime.LogReopener
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. It says which
	// containers run, and costs nothing to look at.
	Seen pleg.Generator
	// Policy says how large a log may get, and how many files there are of it. The
	// zero value has the kubelet's numbers: 10 MiB, and 5. One that says never is a
	// fault: there is nothing to do then.
	Policy policy.Logs
	// Period is how often logs are checked while containers run; zero is
	// DefaultLogPeriod.
	Period time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// MaxRotations is how many logs are rotated at once; zero is
	// DefaultMaxRotations.
	MaxRotations int
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// LogStore has the logs of containers: a logfiles.Dir.
type LogStore interface {
	// Due reports whether a log is to be rotated: it has maxBytes or more. It is called
	// for each running container once per Period, by one caller, concurrently with
	// Rotate. An error is logged, and the log is asked about again.
	Due(l logfiles.Log, maxBytes int64) (bool, error)
	// Rotate gives a log another name and calls reopen, which has the runtime write to a
	// new file. If reopen fails the log has its name again. It is called by one caller
	// at a time for each log, concurrently for MaxRotations of them. After an error it
	// is called again at the next Period at which the log is due.
	Rotate(ctx context.Context, l logfiles.Log, p policy.Logs, now time.Time, reopen func(context.Context) error) error
}

// Logs rotates the logs of running containers. Changed may be called from
// anywhere, before Run and after it as well.
type Logs struct {
	config   LogsConfig
	once     once
	guard    *contain.Guard
	executor executor.Executor
	wake     executor.Event
	group    *executor.Group
	mu       struct {
		sync.Mutex
		logs map[string]rotating // by ID of the container
		busy int
	}
}

// rotating is what is known of a log that needs attention.
type rotating struct {
	busy bool
	why  string // it failed last
}

// NewLogs makes a rotator. It runs nothing until Run is called.
func NewLogs(config LogsConfig) (*Logs, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	g := guard(config.Clock, &config.Log, config.Panicked)
	l := &Logs{config: config, guard: g, executor: executor.Over(config.Clock)}
	l.wake, l.group = l.executor.NewEvent(), executor.NewGroup(l.executor)
	l.mu.logs = make(map[string]rotating)
	return l, nil
}

// Changed says that the snapshot is another one, and may show a container that runs. It
// never blocks.
func (l *Logs) Changed() { l.wake.Signal() }

// Run looks at the logs of running containers every Period until ctx ends, and
// returns nil then, when the last rotation has ended: one that is under way is undone
// or complete. While none runs it waits for Changed. A second call returns runtime.ErrSecondRun.
func (l *Logs) Run(ctx context.Context) error {
	if err := l.once.begin(); err != nil {
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

// Step looks once at the log of every container that runs, and begins to rotate those
// that are due: a large one that is being compressed holds up no other. It reports
// whether any container runs.
func (l *Logs) Step(ctx context.Context) bool {
	now := l.executor.Now()
	running := make(map[string]bool)
	for _, pod := range l.config.Seen.Pods() {
		status, err := l.config.Seen.Get(pod.UID)
		if err != nil || status == nil {
			continue // It is looked at when it can be seen.
		}
		ref := runtime.PodRef{UID: status.UID, Name: status.Name, Namespace: status.Namespace}
		for i := range status.Containers {
			c := &status.Containers[i]
			if c.State != runtime.StateRunning || ctx.Err() != nil {
				continue
			}
			running[c.ID] = true
			l.look(ctx, c.ID, logfiles.Log{Pod: ref, Container: c.Name, Attempt: c.Attempt}, now)
		}
	}
	l.forget(running)
	return len(running) > 0
}

// look begins to rotate a log that is due, if there is room.
func (l *Logs) look(ctx context.Context, id string, log logfiles.Log, now time.Time) {
	due, err := contain.CallWithResult(l.guard, "Store.Due", func() (bool, error) { return l.config.Store.Due(log, l.config.Policy.MaxBytes) })
	switch {
	case err != nil:
		l.tell(ctx, id, log, err)
	case due && l.begin(id):
		l.group.Go(func() {
			err := l.rotate(ctx, id, log, now)
			l.end(id)
			l.tell(ctx, id, log, err)
		})
	}
}

func (l *Logs) rotate(ctx context.Context, id string, log logfiles.Log, now time.Time) (err error) {
	defer l.guard.Recover("Store.Rotate", &err)
	return l.config.Store.Rotate(ctx, log, l.config.Policy, now, func(ctx context.Context) error {
		ctx, cancel := l.executor.WithDeadline(ctx, l.executor.Now().Add(l.config.CallTimeout))
		defer cancel()
		return l.reopen(ctx, id)
	})
}

func (l *Logs) reopen(ctx context.Context, id string) (err error) {
	defer l.guard.Recover("Runtime.ReopenContainerLog", &err)
	return l.config.Runtime.ReopenContainerLog(ctx, id)
}

// begin takes a place. False: it has one, or all are taken and it is the log's turn
// at a later look.
func (l *Logs) begin(id string) bool {
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

func (l *Logs) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.busy--
	r := l.mu.logs[id]
	r.busy = false
	l.mu.logs[id] = r
}

// tell says what has become of a log: a failure once, and again when the reason
// changes.
func (l *Logs) tell(ctx context.Context, id string, log logfiles.Log, err error) {
	if err == nil {
		l.because(id, "")
		l.config.Log.Debug("a log was rotated", "uid", log.Pod.UID, "container", log.Container, "attempt", log.Attempt)
		return
	}
	level := slog.LevelDebug
	if l.because(id, err.Error()) && ctx.Err() == nil {
		level = slog.LevelWarn
	}
	l.config.Log.Log(ctx, level, "a log could not be rotated as it should be; retrying",
		"uid", log.Pod.UID, "container", log.Container, "attempt", log.Attempt, "err", err)
}

// because notes why a log could not be rotated, and reports whether that is new.
func (l *Logs) because(id, why string) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.logs[id]
	news = r.why != why
	r.why = why
	l.mu.logs[id] = r
	return news
}

// forget drops what is known of containers that do not run any more.
func (l *Logs) forget(running map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.mu.logs, func(id string, r rotating) bool { return !running[id] && !r.busy })
}

func (c *LogsConfig) complete() error {
	done := contain.CheckConfig("gc: LogsConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Seen == nil, "Seen")
	done.FaultIf(c.Policy.Never(), "Policy is never")
	done.FaultIf(c.Policy.MaxFiles == 1, "Policy.MaxFiles is less than two: the log, and the one before it")
	contain.DefaultNumber(done, "Period", &c.Period, DefaultLogPeriod)
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	contain.DefaultNumber(done, "MaxRotations", &c.MaxRotations, DefaultMaxRotations)
	c.Policy = c.Policy.Complete()
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
