package source

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// inbox is the Sink of one source in the Mux. It has the source's pods, and knows which of them the
// consumer has taken.
type inbox struct {
	mux  *Mux
	name string
	src  Source

	mu struct {
		sync.Mutex
		pods    merge.Tracker
		guarded bool
		// incomplete is Snapshot.Incomplete of the newest snapshot, takenIncomplete that which the
		// consumer has taken.
		incomplete, takenIncomplete bool
	}
}

var _ ChangeSink = (*inbox)(nil)

// Set implements Sink.
func (in *inbox) Set(s Snapshot) { in.setSnapshotAndWake(s, false) }

// setSnapshotAndWake replaces the pods of the source by a snapshot and wakes the consumer. If owned is true,
// the inbox may modify the pods of this snapshot and of later changes: see HandleConfig.Owned.
func (in *inbox) setSnapshotAndWake(s Snapshot, owned bool) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.SetOwner("")
	if owned {
		in.mu.pods.SetOwner(in.name)
	}
	in.mu.pods.Replace(s.Pods, s.Guarded, now)
	in.mu.guarded, in.mu.incomplete = s.Guarded, s.Incomplete
	in.mu.Unlock()
	in.mux.callWake()
}

// Apply implements ChangeSink.
func (in *inbox) Apply(pod *v1.Pod) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.Put(pod, in.mu.guarded, now)
	in.mu.Unlock()
	in.mux.callWake()
}

// Delete implements ChangeSink.
func (in *inbox) Delete(uid types.UID) {
	now := in.mux.cfg.Clock.Now()
	in.mu.Lock()
	in.mu.pods.Remove(uid, in.mu.guarded, now)
	in.mu.Unlock()
	in.mux.callWake()
}

// consumeChanges returns the changes of the source since the last call. Later calls do not return them again.
func (in *inbox) consumeChanges() merge.Changes {
	in.mu.Lock()
	step := in.mu.pods.Consume()
	in.mu.takenIncomplete = in.mu.incomplete
	in.mu.Unlock()
	return step.Changes(in.name)
}

// isFirstSnapshotConsumed reports whether the consumer has taken the first snapshot of the source.
func (in *inbox) isFirstSnapshotConsumed() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.IsConsumed()
}

// hasDelivered reports whether the source has delivered a snapshot, even if the consumer has not taken it.
func (in *inbox) hasDelivered() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.HasSnapshot()
}

// isComplete reports whether the consumer has taken a snapshot of the source, and both that snapshot and the
// newest snapshot are marked as complete.
func (in *inbox) isComplete() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.pods.IsConsumed() && !in.mu.takenIncomplete && !in.mu.incomplete
}
