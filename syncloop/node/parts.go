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

// ErrNotDrained is in the error of Run if parts of the node were still running when Run returned.
var ErrNotDrained = errors.New("node: parts are still running after their context has ended")

// partsMargin is added to the DrainTimeout in Run's wait for the parts of the node. In that time the
// workers and the prober can still return errors that name the pods that block them. Run names only the
// parts.
const partsMargin = 5 * time.Second

// part is a loop that runs as long as the node does.
type part struct {
	name string
	run  func(context.Context) error
}

// partsExceptStatusSender returns the name and the Run method of every part that the node has, except the
// status sender.
func (n *Node) partsExceptStatusSender() []part {
	parts := []part{
		{"sources", n.sources.Run}, {"pleg", n.pleg.Run}, {"prober", n.prober.Run}, {"workers", n.workers.Run},
		{"gc of pods", n.podCollector.Run}, {"gc of containers", n.containerCollector.Run}, {"gc of images", n.imageCollector.Run}, {"loop", n.loop.Run},
	}
	for _, d := range n.cleaner.directories {
		parts = append(parts, part{"gc of directories", d.Run})
	}
	if n.statuses != nil {
		parts = append(parts, part{"terminal statuses", n.statuses.Run})
	}
	if n.states != nil {
		parts = append(parts, part{"container states", n.states.Run})
	}
	if n.allocated != nil {
		parts = append(parts, part{"allocated resources", n.allocated.Run})
	}
	if r, ok := n.syncer.(VolumeRefresher); ok {
		parts = append(parts, part{"volumes", r.RefreshVolumes})
	}
	if n.enforcer != nil {
		parts = append(parts, part{"limits of all pods", n.enforcer.run})
	}
	if n.evictor != nil {
		parts = append(parts, part{"evictions", n.evictor.Run})
		if n.config.Eviction.MemoryNotifier != nil {
			parts = append(parts, part{"memory notifications", n.runMemoryNotifier})
		}
	}
	if n.logRotator != nil {
		parts = append(parts, part{"rotation of logs", n.logRotator.Run})
	}
	return parts
}

// runningParts has the names of the parts that still run.
type runningParts struct {
	mu    sync.Mutex
	names []string
}

func (r *runningParts) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
}

func (r *runningParts) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.names, name)
	r.names = slices.Delete(r.names, i, i+1)
}

func (r *runningParts) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.names, ", ")
}

// runParts runs all parts until the last one has returned. If one of them fails, it stops the others and
// records the error. If a part still runs when ctx has ended and the drain timeout and a margin are over, it
// returns ErrNotDrained with the names of these parts; a negative timeout has no limit.
func (n *Node) runParts(ctx context.Context, cancel func()) error {
	var left runningParts
	group := executor.NewGroup(n.executor)
	for _, p := range n.partsExceptStatusSender() {
		left.add(p.name)
		group.Go(func() {
			defer left.remove(p.name)
			if err := p.run(ctx); err != nil {
				n.addRunError(err)
				cancel()
			}
		})
	}
	if n.config.Sync.DrainTimeout < 0 {
		group.Wait()
		return nil
	}
	_ = n.executor.NewEvent().Wait(ctx) // This waits for the end of ctx, because no code signals the event.
	drain := n.config.Sync.DrainTimeout
	drain = cmp.Or(drain, podworkers.DefaultDrainTimeout)
	if !group.WaitUntil(n.executor.Now().Add(drain + partsMargin)) {
		return fmt.Errorf("%w: %s", ErrNotDrained, &left)
	}
	return nil
}
