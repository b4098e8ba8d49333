package node

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
)

// contain wraps what the node itself calls that others have written: a panic there is
// the error of that call. The parts do so with what they call, and tell the guard.
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "node", Clock: c.Clock, Log: c.Log, Told: c.Hooks.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = brief{contain.NewRecorder(g, c.Recorder)}
	}
	evictable := c.Evictable
	c.Evictable = func(pod *v1.Pod) bool {
		return contain.Or(g, "Evictable", false, func() bool { return evictable(pod) })
	}
	c.Hooks.Phase = contain.Hook3(g, "Hooks.Phase", c.Hooks.Phase)
	c.Hooks.Synced = contain.Hook1(g, "Hooks.Synced", c.Hooks.Synced)
	c.Hooks.Forgotten = contain.Hook1(g, "Hooks.Forgotten", c.Hooks.Forgotten)
	return g
}

// feature is an optional feature of the node's runtime, contained; nil if it is none.
func feature[T any](n *Node) T { return contain.Feature[T](n.guard, n.config.Runtime) }
