package nodetest

import (
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// node is the node's configuration with the harness's parts put in.
func (c Config) node(clk clock.Clock, rt runtime.Runtime, t *trace) node.Config {
	n := c.Node
	n.Clock = clk
	n.Runtime = rt
	if c.Wrap != nil {
		n.Runtime = c.Wrap(rt, clk)
	}
	n.Recorder = t
	n.Timeline = t.recording(n.Timeline)
	if n.Volumes == nil {
		volumes := inmemory.New(inmemory.Config{Objects: n.Objects, Tokens: n.Tokens, Claims: n.Claims, Allocatable: n.Capacity})
		n.Volumes, n.Files = volumes, volumes
	}
	if n.Jitter == nil {
		n.Jitter = func() float64 { return 0 }
	}
	if c.Configure != nil {
		c.Configure(&n)
	}
	n.PartHooks.Status = t.seeing(n.PartHooks.Status)
	return n
}
