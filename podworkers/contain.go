package podworkers

import (
	"context"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// contain wraps whatever the workers call that others have written: a panic there
// is the error of that call, or of that pod's sync, and of nothing else (I50).
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "podworkers", Clock: c.Clock, Log: c.Log, Told: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Recorder = contain.NewRecorder(g, c.Recorder)
	c.Jitter = contain.Jitter(g, c.Jitter)
	c.Hooks.Phase = contain.Hook3(g, "Hooks.Phase", c.Hooks.Phase)
	c.Hooks.Forgotten = contain.Hook1(g, "Hooks.Forgotten", c.Hooks.Forgotten)
	c.Hooks.Synced = contain.Hook1(g, "Hooks.Synced", c.Hooks.Synced)
	return g
}

// newerThan asks the cache; a panic of it is an error.
func (w *Workers) newerThan(ctx context.Context, j *job) (status *runtime.PodStatus, err error) {
	defer w.guard.Recover("Cache.NewerThan", &err)
	return w.config.Cache.NewerThan(ctx, j.UID, j.mark)
}

// get asks the cache for what it has; after a panic of it, nothing.
func (w *Workers) get(j *job) *runtime.PodStatus {
	return contain.Or(w.guard, "Cache.Get", nil, func() *runtime.PodStatus {
		status, _ := w.config.Cache.Get(j.UID)
		return status
	})
}

// markAfter is the number of the newest observation after a call; after a panic of
// the cache, that of the one before, which is safe: it only asks for a newer one.
func (w *Workers) markAfter(j *job) uint64 {
	return contain.Or(w.guard, "Cache.Mark", j.mark, w.config.Cache.Mark)
}
