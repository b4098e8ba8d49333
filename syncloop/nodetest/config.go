package nodetest

import (
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// nodeConfig returns the configuration of a node, with the clock, runtime, event recorder and hooks of the test
// harness. It sets in-memory volumes and a zero jitter if the Config has none. Config.Configure can then change
// everything except the status hook, which the harness wraps last.
func (c Config) nodeConfig(clk clock.Clock, rt runtime.Runtime, t *trace) node.Config {
	n := c.Node
	n.Clock = clk
	n.Runtime = rt
	if c.Wrap != nil {
		n.Runtime = c.Wrap(rt, clk)
	}
	n.Recorder = t
	n.Hooks.Timeline = t.timelineHook(n.Hooks.Timeline)
	if n.Volumes.Manager == nil {
		volumes := inmemory.New(inmemory.Config{Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims, Allocatable: n.Scheduling.Capacity})
		n.Volumes.Manager, n.Volumes.Files = volumes, volumes
	}
	if n.Jitter == nil {
		n.Jitter = func() float64 { return 0 }
	}
	if c.Configure != nil {
		c.Configure(&n)
	}
	n.Hooks.Status = t.statusHook(n.Hooks.Status)
	return n
}
