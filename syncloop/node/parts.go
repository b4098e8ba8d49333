package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
)

// ErrNotDrained is in the error of a Run that has left parts of the node behind.
var ErrNotDrained = errors.New("node: parts ignore that their context has ended")

// lastMoment is how much longer than for syncs and checks Run waits for the rest: who
// is named by its own part is not named as one.
const lastMoment = 5 * time.Second

// part is what runs as long as the node does.
type part struct {
	name string
	run  func(context.Context) error
}

func (n *Node) parts() []part {
	parts := []part{
		{"sources", n.sources.Run}, {"pleg", n.pleg.Run}, {"prober", n.prober.Run}, {"workers", n.workers.Run},
		{"gc of pods", n.leftover.Run}, {"gc of containers", n.dead.Run}, {"gc of images", n.unused.Run}, {"loop", n.loop.Run},
	}
	for _, d := range n.directories {
		parts = append(parts, part{"gc of directories", d.Run})
	}
	if n.statuses != nil {
		parts = append(parts, part{"terminal statuses", n.statuses.Run})
	}
	if n.states != nil {
		parts = append(parts, part{"container states", n.states.Run})
	}
	if r, ok := n.syncer.(VolumeRefresher); ok {
		parts = append(parts, part{"volumes", r.RefreshVolumes})
	}
	if n.rotator != nil {
		parts = append(parts, part{"rotation of logs", n.rotator.Run})
	}
	return parts
}

// running are the parts that run.
type running struct {
	mu    sync.Mutex
	names []string
}

func (r *running) begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
}

func (r *running) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.names, name)
	r.names = slices.Delete(r.names, i, i+1)
}

func (r *running) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.names, ", ")
}

// runParts runs them until the last has ended: all begin to when ctx ends, or one
// fails. A runtime that breaks its word to heed its context is not to keep a program
// from ending, so Run does not wait for ever.
func (n *Node) runParts(ctx context.Context, cancel func()) error {
	var left running
	group := executor.NewGroup(n.executor)
	for _, p := range n.parts() {
		left.begin(p.name)
		group.Go(func() {
			defer left.end(p.name)
			if err := p.run(ctx); err != nil {
				n.fail(err)
				cancel()
			}
		})
	}
	if n.config.Sync.DrainTimeout < 0 {
		group.Wait()
		return nil
	}
	_ = n.executor.NewEvent().Wait(ctx) // Which nobody signals.
	drain := n.config.Sync.DrainTimeout
	drain = cmp.Or(drain, podworkers.DefaultDrainTimeout)
	if !group.WaitUntil(n.executor.Now().Add(drain + lastMoment)) {
		return fmt.Errorf("%w: %s", ErrNotDrained, &left)
	}
	return nil
}
