package source

import (
	"sync"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// inbox is what the Mux knows of one source: what it says, and how much of that
// the consumer has taken.
type inbox struct {
	mux  *Mux
	name string
	src  Source

	mu struct {
		sync.Mutex
		latest, taken view
	}
}

// view is a snapshot and whether it is all there is. The snapshot is nil before
// the first snapshot.
type view struct {
	snapshot   *merge.Snapshot
	incomplete bool
}

// Set implements Sink: the inbox is what its source is given.
func (in *inbox) Set(s Snapshot) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.latest = view{in.mu.latest.snapshot.Next(s.Pods, s.Guarded, now), s.Incomplete}
	in.mu.Unlock()
	in.mux.wake()
}

// take gives what is new, and counts it as seen by the consumer.
func (in *inbox) take() merge.Changes {
	in.mu.Lock()
	taken, latest := in.mu.taken.snapshot, in.mu.latest.snapshot
	in.mu.taken = in.mu.latest
	in.mu.Unlock()
	return merge.Diff(taken, latest, in.name)
}

// seen reports whether the consumer has taken a snapshot of the source.
func (in *inbox) seen() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.taken.snapshot != nil
}

// delivered reports whether the source has handed over a snapshot.
func (in *inbox) delivered() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.latest.snapshot != nil
}

// complete reports whether the consumer's snapshot is whole, and the source has
// not said since that it cannot vouch for it.
func (in *inbox) complete() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.taken.snapshot != nil && !in.mu.taken.incomplete && !in.mu.latest.incomplete
}
