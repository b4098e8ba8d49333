package podworkers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// Workers is the PodWorkers of a node: a lifecycle.Table behind a lock, at most one goroutine per
// pod and none for an idle one, and one timer for all retries.
type Workers struct {
	config       Config
	guard        *contain.Guard
	executor     executor.Executor
	goroutines   *executor.Runners
	syncs        *slots
	terminations *slots
	wake         executor.Event          // the earliest retry became earlier
	idle         executor.Event          // the last worker has exited
	relister     runtime.RelistRequester // nil if the cache is not a RelistRequester
	root         *executor.Context       // the parent of every call's context; set before the first worker starts
	jobs         sync.Pool               // of *job

	mu struct {
		sync.Mutex
		stage       stage
		table       *lifecycle.Table
		queue       checkedQueue
		due         []types.UID // reused by every Step
		records     records
		kills       map[lifecycle.Ticket]*Completion
		effects     lifecycle.Effects // reused by every call
		startAtRun  []func()          // workers of pods that were woken before Run
		workers     int
		sleepsUntil time.Time // until when Run sleeps; zero: until a signal
		mark        uint64    // the highest observedMark of a forgotten pod
	}
}

// stage is the state of the Workers.
type stage uint8

const (
	created stage = iota
	serving
	stopped
)

// New returns workers. They accept updates at once and call the syncer once Run is called.
func New(config Config) (*Workers, error) {
	if err := config.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	guard, look := config.containPanicsOfCallbacks()
	w := &Workers{
		config:       config,
		guard:        guard,
		executor:     t,
		goroutines:   executor.NewRunners(t),
		syncs:        newSlots(t, config.MaxSyncs),
		terminations: newSlots(t, config.MaxTerminations),
		wake:         t.NewEvent(),
		idle:         t.NewEvent(),
		relister:     look,
	}
	w.mu.queue.inner = config.Queue
	w.jobs.New = func() any { return new(job) }
	w.mu.table = lifecycle.New()
	w.mu.kills = make(map[lifecycle.Ticket]*Completion)
	return w, nil
}

// Run serves the pods until ctx ends, waits for the running calls of the syncer, whose contexts are
// cancelled, and returns nil. If calls still run after Config.DrainTimeout, it returns
// ErrNotDrained with their names. It returns ErrQueue if Config.Queue fails. A second call returns
// runtime.ErrSecondRun.
func (w *Workers) Run(ctx context.Context) error {
	root := executor.NewContext(ctx)
	defer root.Cancel(context.Canceled)
	if err := w.startServing(root); err != nil {
		return err
	}
	defer w.goroutines.Close()
	for w.wakeDuePodsAndWait(ctx) == nil {
	}
	root.Cancel(context.Canceled)
	return errors.Join(w.logAndReturnQueueError(), w.shutDown(ctx))
}

// wakeDuePodsAndWait wakes the pods whose next sync is due, and waits until the next one is due or w.wake is
// signalled. It returns an error if ctx is done or the work queue has failed.
func (w *Workers) wakeDuePodsAndWait(ctx context.Context) error {
	next, timed := w.Step()
	if w.hasQueueFailed() {
		return ErrQueue
	}
	if !timed {
		return w.wake.Wait(ctx)
	}
	_, err := w.wake.WaitUntil(ctx, next)
	return err
}

// Step wakes every pod whose retry or resync is due. It returns the time of the next one, and false
// if there is none. It is the body of Run's loop.
func (w *Workers) Step() (next time.Time, timed bool) {
	var act actions
	now := w.executor.Now()
	w.mu.Lock()
	// The queue and the table are used under one lock: otherwise a finishing call could enqueue the
	// pod between GetWork and Due.
	w.mu.due = w.mu.queue.GetWork(now, w.mu.due[:0])
	for _, uid := range w.mu.due {
		w.mu.table.Due(uid, &w.mu.effects)
	}
	w.applyEffectsLocked(&act, nil)
	if clear(w.mu.due); cap(w.mu.due) > maxReusedEffects {
		w.mu.due = nil
	}
	next, timed = w.mu.queue.Next(now)
	w.mu.sleepsUntil = next
	w.mu.Unlock()
	w.performActions(&act)
	return next, timed
}

// startServing lets workers start from now on, and starts those that were stored before Run. It returns
// ErrSecondRun if Run was called before.
func (w *Workers) startServing(root *executor.Context) error {
	var act actions
	w.mu.Lock()
	if w.mu.stage != created {
		w.mu.Unlock()
		return fmt.Errorf("podworkers: %w", runtime.ErrSecondRun)
	}
	w.root = root
	w.mu.stage = serving
	for _, run := range w.mu.startAtRun {
		w.startWorkerNowOrAtRunLocked(&act, run)
	}
	w.mu.startAtRun = nil
	w.mu.Unlock()
	w.performActions(&act)
	return nil
}

// shutDown stops new workers, shuts down the lifecycle table, which resolves all completions, and waits for the
// workers to exit. It returns ErrNotDrained if they do not exit within the drain timeout.
func (w *Workers) shutDown(ctx context.Context) error {
	var act actions
	w.mu.Lock()
	w.mu.stage = stopped
	w.mu.table.Shutdown(&w.mu.effects)
	w.applyEffectsLocked(&act, nil)
	busy := w.mu.workers > 0
	w.mu.Unlock()
	w.performActions(&act)
	if !busy {
		return nil
	}
	return w.waitForWorkers(executor.Detach(ctx))
}

// waitForWorkers waits until the last worker has exited. After the drain timeout it returns ErrNotDrained with
// the names of the pods; a negative timeout waits without limit. It returns nil if a simulated crash ends the
// wait.
func (w *Workers) waitForWorkers(ctx context.Context) error {
	if w.config.DrainTimeout < 0 {
		_ = w.idle.Wait(ctx) // It fails only in a simulated crash, after which no worker runs.
		return nil
	}
	ended, err := w.idle.WaitUntil(ctx, w.executor.Now().Add(w.config.DrainTimeout))
	if ended || err != nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(w.namesOfPodsWithRunningJob(), ", "))
}

// namesOfPodsWithRunningJob returns namespace/name of each pod whose worker runs a job, sorted.
func (w *Workers) namesOfPodsWithRunningJob() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, chunk := range w.mu.records {
		for i := range chunk {
			if j := chunk[i].running; j != nil {
				names = append(names, j.podName())
			}
		}
	}
	slices.Sort(names)
	return names
}

// View implements PodWorkers.
func (w *Workers) View(uid types.UID) lifecycle.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.table.View(uid)
}

// IsPodForMirrorPodTerminatingByFullName implements PodWorkers.
func (w *Workers) IsPodForMirrorPodTerminatingByFullName(fullName string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.table.Owner(fullName).IsPodForMirrorPodTerminating()
}

// Generation implements PodWorkers.
func (w *Workers) Generation() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.table.Generation()
}

var _ PodWorkers = (*Workers)(nil)
