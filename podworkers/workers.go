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

// Workers is the PodWorkers of a node: a lifecycle.Table behind a lock, at most
// one goroutine per pod and none for an idle one, and one timer for all retries.
type Workers struct {
	config       Config
	guard        *contain.Guard
	executor     executor.Executor
	goroutines   *executor.Runners
	syncs        *slots
	terminations *slots
	wake         executor.Event          // the earliest retry became earlier
	idle         executor.Event          // the last runner has ended
	look         runtime.RelistRequester // nil if nobody can be asked for an observation
	root         *executor.Context       // the parent of every call's context; set before the first runner starts
	jobs         sync.Pool               // of *job

	mu struct {
		sync.Mutex
		stage   stage
		table   *lifecycle.Table
		queue   checkedQueue
		due     []types.UID // reused by every Step
		records records
		kills   map[lifecycle.Ticket]*Completion
		effects lifecycle.Effects // reused by every call
		parked  []func()          // runners woken before Run
		runners int
		alarm   time.Time // when Run wakes by itself, zero for never
		mark    uint64    // the newest mark of any pod that was forgotten
	}
}

// stage of the Workers' own life.
type stage uint8

const (
	created stage = iota
	serving
	stopped
)

// New makes workers. They accept updates at once and work once Run is called.
func New(config Config) (*Workers, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	guard, look := config.contain()
	w := &Workers{
		config:       config,
		guard:        guard,
		executor:     t,
		goroutines:   executor.NewRunners(t),
		syncs:        newSlots(t, config.MaxSyncs),
		terminations: newSlots(t, config.MaxTerminations),
		wake:         t.NewEvent(),
		idle:         t.NewEvent(),
		look:         look,
	}
	w.mu.queue.inner = config.Queue
	w.jobs.New = func() any { return new(job) }
	w.mu.table = lifecycle.New()
	w.mu.kills = make(map[lifecycle.Ticket]*Completion)
	return w, nil
}

// Run works until ctx ends, then lets running calls of the syncer come to
// their end, whose contexts have ended with it, and returns nil. If some ignore
// that for longer than Config.DrainTimeout it gives up on them with
// ErrNotDrained and their names. A Config.Queue that fails ends it with ErrQueue. A
// second call returns runtime.ErrSecondRun.
func (w *Workers) Run(ctx context.Context) error {
	root := executor.NewContext(ctx)
	defer root.Cancel(context.Canceled)
	if err := w.serve(root); err != nil {
		return err
	}
	defer w.goroutines.Close()
	for w.waitForNextDue(ctx) == nil {
	}
	root.Cancel(context.Canceled)
	return errors.Join(w.queueFailed(), w.stop(ctx))
}

// waitForNextDue wakes the pods that are due and waits until the next one may be due. It returns an error when
// Run has to end.
func (w *Workers) waitForNextDue(ctx context.Context) error {
	next, timed := w.Step()
	if w.queueBroken() {
		return ErrQueue
	}
	if !timed {
		return w.wake.Wait(ctx)
	}
	_, err := w.wake.WaitUntil(ctx, next)
	return err
}

// Step wakes every pod whose retry is due and says when the next one is; false
// if there is none. It is the body of Run's loop.
func (w *Workers) Step() (next time.Time, timed bool) {
	var act actions
	now := w.executor.Now()
	w.mu.Lock()
	// Under one lock with the table: an entry that was taken out must not meet
	// one that a finishing call puts in meanwhile.
	w.mu.due = w.mu.queue.GetWork(now, w.mu.due[:0])
	for _, uid := range w.mu.due {
		w.mu.table.Due(uid, &w.mu.effects)
	}
	w.applyLocked(&act, nil)
	if clear(w.mu.due); cap(w.mu.due) > maxKeptEffects {
		w.mu.due = nil
	}
	next, timed = w.mu.queue.Next(now)
	w.mu.alarm = next
	w.mu.Unlock()
	w.do(&act)
	return next, timed
}

// serve begins to work, with what was woken before.
func (w *Workers) serve(root *executor.Context) error {
	var act actions
	w.mu.Lock()
	if w.mu.stage != created {
		w.mu.Unlock()
		return fmt.Errorf("podworkers: %w", runtime.ErrSecondRun)
	}
	w.root = root
	w.mu.stage = serving
	for _, run := range w.mu.parked {
		w.wakeLocked(&act, run)
	}
	w.mu.parked = nil
	w.mu.Unlock()
	w.do(&act)
	return nil
}

// stop resolves what is open and waits for the runners.
func (w *Workers) stop(ctx context.Context) error {
	var act actions
	w.mu.Lock()
	w.mu.stage = stopped
	w.mu.table.Shutdown(&w.mu.effects)
	w.applyLocked(&act, nil)
	busy := w.mu.runners > 0
	w.mu.Unlock()
	w.do(&act)
	if !busy {
		return nil
	}
	return w.drain(executor.Detach(ctx))
}

func (w *Workers) drain(ctx context.Context) error {
	if w.config.DrainTimeout < 0 {
		_ = w.idle.Wait(ctx) // It fails only by a crash, after which nobody runs.
		return nil
	}
	ended, err := w.idle.WaitUntil(ctx, w.executor.Now().Add(w.config.DrainTimeout))
	if ended || err != nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(w.busy(), ", "))
}

// busy names the pods for which the syncer is being called.
func (w *Workers) busy() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, chunk := range w.mu.records {
		for i := range chunk {
			if j := chunk[i].running; j != nil {
				names = append(names, j.name())
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
