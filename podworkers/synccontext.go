package podworkers

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// syncContext is the context of one call of a PodSyncer. It can be cancelled, and carries what
// WithoutSlot, Wait and IncarnationFrom need, in one allocation.
type syncContext struct {
	executor.Context
	executor    executor.Executor // of the workers; nil for a context from WithIncarnation
	incarnation uint64
	slot        slotLease
}

type syncContextKey struct{}

// Value implements context.Context.
func (c *syncContext) Value(key any) any {
	if key == (syncContextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// IncarnationFrom returns the incarnation of the pod's UID for which a PodSyncer is called. The
// numbers only grow during one Run: a UID that is used again has a higher one than before. It
// returns 0 for any other context.
func IncarnationFrom(ctx context.Context) uint64 {
	if c, ok := ctx.Value(syncContextKey{}).(*syncContext); ok {
		return c.incarnation
	}
	return 0
}

// WithIncarnation returns the context of a call for an incarnation of a UID. It is for callers of a
// PodSyncer other than Workers, for example tests.
func WithIncarnation(ctx context.Context, incarnation uint64) context.Context {
	c := &syncContext{incarnation: incarnation}
	c.Init(ctx)
	return c
}

// WithoutSlot releases the caller's slot (Config.MaxSyncs), calls wait, and takes a slot again. It
// is for the parts of a call that only wait, above all for a grace period, so that other pods can
// be synced meanwhile. A PodSyncer calls it with the context that it was given, or a derived one.
// Several parts of one call may use it at once. A call whose context has ended continues without a
// slot.
func WithoutSlot(ctx context.Context, wait func()) {
	c, ok := ctx.Value(syncContextKey{}).(*syncContext)
	if !ok {
		wait()
		return
	}
	c.slot.releaseWhile(ctx, wait)
}

// Wait waits until d has passed and returns nil, or returns the error of ctx if ctx ends first. A
// PodSyncer must wait with it, and so must all code that it calls with its context, for example a
// runtime or a probe checker. Wait uses the clock of the workers: it takes real time in an agent
// and none in a simulation (podworkerstest, nodetest). A channel, a timer or time.Sleep would block
// the whole simulation. The call's slot is released meanwhile, as by WithoutSlot. A d of zero or
// less lets other pods run.
//
// After an error the caller must return: the call was cancelled, or the simulated process has
// crashed.
//
// Wait may be called concurrently. With a context that belongs neither to workers nor to a
// simulation it uses the real clock.
func Wait(ctx context.Context, d time.Duration) (err error) {
	c, ok := ctx.Value(syncContextKey{}).(*syncContext)
	if !ok || c.executor == nil {
		return executor.From(ctx).Sleep(ctx, d)
	}
	c.slot.releaseWhile(ctx, func() { err = c.executor.Sleep(ctx, d) })
	return err
}
