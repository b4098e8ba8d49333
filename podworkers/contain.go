package podworkers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// contain wraps whatever the workers call that others have written: a panic there
// is the error of that call, or of that pod's sync, and of nothing else (I50).
// The workers' RelistRequester is nil if the cache is none.
func (c *Config) contain() (*contain.Guard, runtime.RelistRequester) {
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
	var look runtime.RelistRequester
	if inner, ok := c.Cache.(runtime.RelistRequester); ok {
		look = guardedAsker{inner, g}
	}
	c.Cache = guardedCache{c.Cache, g}
	return g, look
}

// guardedCache contains a cache, wherever it is asked.
type guardedCache struct {
	inner runtime.StatusCache
	guard *contain.Guard
}

func (c guardedCache) Get(uid types.UID) (status *runtime.PodStatus, err error) {
	defer c.guard.Recover("Cache.Get", &err)
	return c.inner.Get(uid)
}

// Mark is 0 after a panic: no observation is newer than that.
func (c guardedCache) Mark() uint64 {
	return contain.CallOrDefault(c.guard, "Cache.Mark", 0, c.inner.Mark)
}

func (c guardedCache) NewerThan(ctx context.Context, uid types.UID, mark uint64) (status *runtime.PodStatus, err error) {
	defer c.guard.Recover("Cache.NewerThan", &err)
	return c.inner.NewerThan(ctx, uid, mark)
}

// guardedAsker contains a cache that can be asked for an observation.
type guardedAsker struct {
	inner runtime.RelistRequester
	guard *contain.Guard
}

func (a guardedAsker) RequestRelist(uid types.UID) {
	_ = a.guard.Call("Cache.RequestRelist", func() { a.inner.RequestRelist(uid) })
}
