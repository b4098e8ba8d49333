package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/turn"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// Defaults of PodsConfig.
const (
	// DefaultRetry is how long a failed removal waits for the next try: the
	// pod workers' own error backoff.
	DefaultRetry = 10 * time.Second
	// DefaultCallTimeout bounds each call to the runtime.
	DefaultCallTimeout = 2 * time.Minute
)

// PodsConfig is what Pods need. Runtime and Removable are required.
type PodsConfig struct {
	// Runtime is asked what there is and told to remove it.
	Runtime remover
	// Removable is asked right before each removal. It must be safe for
	// concurrent use and must not block.
	Removable func(uid types.UID) bool
	// Removed, if set, is called after all records of a pod are gone.
	Removed func(uid types.UID)
	// Retry is how long a failed removal waits; zero is DefaultRetry.
	Retry time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives sentences for people; nil discards them.
	Log *slog.Logger
}

type remover interface {
	PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error)
	RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error
}

// Pods removes the records of pods that are gone.
type Pods struct {
	config PodsConfig
	turn   turn.Turn
	wake   turn.Event
	queue  *workqueue.Queue
	mu     struct {
		sync.Mutex
		queued map[types.UID]bool // handed over and not removed yet
	}
}

// NewPods makes a collector. It runs nothing until Run is called.
func NewPods(config PodsConfig) (*Pods, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := turn.Over(config.Clock)
	p := &Pods{config: config, turn: t, wake: t.NewEvent()}
	p.queue = workqueue.New(workqueue.Config{Clock: config.Clock, Notify: p.wake.Signal})
	p.mu.queued = make(map[types.UID]bool)
	return p, nil
}

func (c *PodsConfig) complete() error {
	var errs []error
	if c.Runtime == nil {
		errs = append(errs, errors.New("gc: PodsConfig.Runtime is missing"))
	}
	if c.Removable == nil {
		errs = append(errs, errors.New("gc: PodsConfig.Removable is missing"))
	}
	if c.Removed == nil {
		c.Removed = func(types.UID) {}
	}
	if c.Retry == 0 {
		c.Retry = DefaultRetry
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}

// Discard hands over pods whose records may go. It never blocks, may be called
// from anywhere, and a pod that is waiting already keeps its place and its
// backoff.
func (p *Pods) Discard(uids []types.UID) {
	for _, uid := range uids {
		p.mu.Lock()
		waiting := p.mu.queued[uid]
		p.mu.queued[uid] = true
		p.mu.Unlock()
		if !waiting {
			p.queue.Enqueue(uid, 0)
		}
	}
}

// Run removes what is handed over until ctx ends, and returns nil then.
func (p *Pods) Run(ctx context.Context) error {
	for {
		p.Step(ctx)
		var err error
		if next, ok := p.queue.Next(); ok {
			_, err = p.wake.WaitUntil(ctx, next)
		} else {
			err = p.wake.Wait(ctx)
		}
		if err != nil {
			return nil
		}
	}
}

// Step tries to remove every pod that is due.
func (p *Pods) Step(ctx context.Context) {
	for _, uid := range p.queue.GetWork() {
		if ctx.Err() != nil {
			return
		}
		if err := p.remove(ctx, uid); err != nil {
			p.config.Log.Warn("what is left of a pod could not be removed and will be tried again", "uid", uid, "after", p.config.Retry, "err", err)
			p.queue.Enqueue(uid, p.config.Retry)
			continue
		}
		p.mu.Lock()
		delete(p.mu.queued, uid)
		p.mu.Unlock()
	}
}

// remove drops the sandboxes of a pod, oldest first so that a crash in the
// middle leaves the record that tells most. nil also means that the pod must
// be kept after all.
func (p *Pods) remove(ctx context.Context, uid types.UID) error {
	status, err := p.look(ctx, uid)
	if err != nil {
		return err
	}
	for i := len(status.Sandboxes) - 1; i >= 0; i-- {
		if !p.config.Removable(uid) {
			return nil
		}
		if err := p.drop(ctx, status.Sandboxes[i].ID); err != nil {
			return err
		}
	}
	p.config.Removed(uid)
	return nil
}

func (p *Pods) look(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	ctx, cancel := p.turn.WithDeadline(ctx, p.turn.Now().Add(p.config.CallTimeout))
	defer cancel()
	status, err := p.config.Runtime.PodStatus(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("gc: look at the pod: %w", err)
	}
	return status, nil
}

// drop removes one sandbox. Once sent, the call runs to its own deadline: a
// cancelled removal may leave half a sandbox behind.
func (p *Pods) drop(ctx context.Context, id string) error {
	ctx, cancel := p.turn.WithDeadline(turn.Detach(ctx), p.turn.Now().Add(p.config.CallTimeout))
	defer cancel()
	err := p.config.Runtime.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: id})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("gc: remove sandbox %s: %w", id, err)
	}
	return nil
}
