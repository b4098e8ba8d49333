package podworkers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// containPanicsOfCallbacks wraps the Cache, Recorder, Jitter and Log and the hooks Phase, Forgotten, Syncing
// and Synced, so that a panic in one of them does not crash the process. The Syncer, the Queue and Stability
// are guarded where they are called. It returns the Guard and the cache as a guarded RelistRequester; the
// requester is nil if the cache does not implement that interface (I50).
func (c *Config) containPanicsOfCallbacks() (*contain.Guard, runtime.RelistRequester) {
	g := contain.New(contain.Config{Package: "podworkers", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Recorder = contain.NewRecorder(g, c.Recorder)
	c.Jitter = contain.Jitter(g, c.Jitter)
	if c.Hooks.Phase != nil {
		c.Hooks.Phase = contain.Hook3(g, "Hooks.Phase", c.Hooks.Phase)
	}
	if c.Hooks.Forgotten != nil {
		c.Hooks.Forgotten = contain.Hook1(g, "Hooks.Forgotten", c.Hooks.Forgotten)
	}
	if c.Hooks.Syncing != nil {
		c.Hooks.Syncing = contain.Hook2(g, "Hooks.Syncing", c.Hooks.Syncing)
	}
	if c.Hooks.Synced != nil {
		c.Hooks.Synced = contain.Hook1(g, "Hooks.Synced", c.Hooks.Synced)
	}
	var relister runtime.RelistRequester
	if inner, ok := c.Cache.(runtime.RelistRequester); ok {
		relister = guardedRelister{inner, g}
	}
	c.Cache = guardedCache{c.Cache, g}
	return g, relister
}

// guardedCache turns panics of a cache into errors.
type guardedCache struct {
	inner runtime.StatusCache
	guard *contain.Guard
}

// Get implements runtime.StatusCache.
func (c guardedCache) Get(uid types.UID) (status *runtime.PodStatus, err error) {
	defer c.guard.Recover("Cache.Get", &err)
	return c.inner.Get(uid)
}

// Mark implements runtime.StatusCache. After a panic it returns 0: every observation is newer than
// that.
func (c guardedCache) Mark() uint64 {
	return contain.CallOrDefault(c.guard, "Cache.Mark", 0, c.inner.Mark)
}

// NewerThan implements runtime.StatusCache.
func (c guardedCache) NewerThan(ctx context.Context, uid types.UID, mark uint64) (status *runtime.PodStatus, err error) {
	defer c.guard.Recover("Cache.NewerThan", &err)
	return c.inner.NewerThan(ctx, uid, mark)
}

// guardedRelister recovers the panics of a RelistRequester.
type guardedRelister struct {
	inner runtime.RelistRequester
	guard *contain.Guard
}

// RequestRelist implements runtime.RelistRequester.
func (a guardedRelister) RequestRelist(uid types.UID) {
	_ = a.guard.Call("Cache.RequestRelist", func() { a.inner.RequestRelist(uid) })
}
