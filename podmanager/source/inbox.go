package source

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
		pods    merge.Tracker
		guarded bool
		// incomplete is what the source has said last, and what the consumer has taken.
		incomplete, takenIncomplete bool
	}
}

var _ ChangeSink = (*inbox)(nil)

// Set implements Sink: the inbox is what its source is given.
func (in *inbox) Set(s Snapshot) { in.set(s, false) }

// set is Set. The pods, and those of later changes, are the inbox's if they are owned: see
// HandleConfig.Owned.
func (in *inbox) set(s Snapshot, owned bool) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.SetOwner("")
	if owned {
		in.mu.pods.SetOwner(in.name)
	}
	in.mu.pods.Replace(s.Pods, s.Guarded, now)
	in.mu.guarded, in.mu.incomplete = s.Guarded, s.Incomplete
	in.mu.Unlock()
	in.mux.wake()
}

// Apply implements ChangeSink.
func (in *inbox) Apply(pod *v1.Pod) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.Put(pod, in.mu.guarded, now)
	in.mu.Unlock()
	in.mux.wake()
}

// Delete implements ChangeSink.
func (in *inbox) Delete(uid types.UID) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.Remove(uid, in.mu.guarded, now)
	in.mu.Unlock()
	in.mux.wake()
}

// take gives what is new, and counts it as seen by the consumer.
func (in *inbox) take() merge.Changes {
	in.mu.Lock()
	step := in.mu.pods.Consume()
	in.mu.takenIncomplete = in.mu.incomplete
	in.mu.Unlock()
	return step.Changes(in.name)
}

// seen reports whether the consumer has taken a snapshot of the source.
func (in *inbox) seen() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.IsConsumed()
}

// delivered reports whether the source has handed over a snapshot.
func (in *inbox) delivered() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.HasSnapshot()
}

// complete reports whether the consumer's snapshot is whole, and the source has
// not said since that it cannot vouch for it.
func (in *inbox) complete() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.IsConsumed() && !in.mu.takenIncomplete && !in.mu.incomplete
}
