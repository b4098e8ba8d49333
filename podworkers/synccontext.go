package podworkers

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// syncContext is the context of one call of a PodSyncer: cancellable, with what
// the call may want to know about itself, in one allocation.
type syncContext struct {
	executor.Context
	seam        executor.Executor // of the workers; nil for a context that others made
	incarnation uint64
	slot        lease
}

type syncContextKey struct{}

// Value implements context.Context.
func (c *syncContext) Value(key any) any {
	if key == (syncContextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// IncarnationFrom tells for which incarnation of the pod's UID a PodSyncer is called.
// The numbers only grow during one Run: a UID that comes back has
// a higher one than it ever had. It is 0 for a context of no such call.
func IncarnationFrom(ctx context.Context) uint64 {
	if c, ok := ctx.Value(syncContextKey{}).(*syncContext); ok {
		return c.incarnation
	}
	return 0
}

// WithIncarnation is for callers of a PodSyncer other than Workers, as tests are:
// the context of a call for that incarnation of a UID.
func WithIncarnation(ctx context.Context, incarnation uint64) context.Context {
	c := &syncContext{incarnation: incarnation}
	c.Init(ctx)
	return c
}

// WithoutSlot calls wait with the caller's slot (Config.MaxSyncs) given back, and
// takes one again afterwards: for the parts of a sync that only wait, a grace
// period above all, and must not keep others from working. It is called by a
// PodSyncer with the context it was given, or one derived from it; several
// parts of one sync may do so at once. A sync whose context has ended goes on
// without a slot.
func WithoutSlot(ctx context.Context, wait func()) {
	c, ok := ctx.Value(syncContextKey{}).(*syncContext)
	if !ok {
		wait()
		return
	}
	c.slot.without(ctx, wait)
}

// Wait waits until d has passed, and returns nil, or returns the error of ctx if
// that ends first. It is how a PodSyncer waits, and whatever it calls with its
// context, a runtime or a checker of probes: on the clock of the workers, so that
// it takes real time in an agent and none in a simulation (podworkerstest,
// nodetest), where a channel, a timer or time.Sleep would stop everything. A
// sync's slot is given back meanwhile, as by WithoutSlot. A d of zero or less
// lets others run. An error ends the call: the sync was cancelled, or the
// simulated process has crashed.
//
// It may be called concurrently. With a context that comes neither from workers
// nor from a simulation it waits on the real clock.
func Wait(ctx context.Context, d time.Duration) (err error) {
	c, ok := ctx.Value(syncContextKey{}).(*syncContext)
	if !ok || c.seam == nil {
		return executor.From(ctx).Sleep(ctx, d)
	}
	c.slot.without(ctx, func() { err = c.seam.Sleep(ctx, d) })
	return err
}
