package lifecycle

import "k8s.io/apimachinery/pkg/types"

// Known is a whole snapshot of the desired state.
type Known struct {
	// Desired is every desired pod of the node, in any order.
	Desired []types.UID
	// Generation is Table.Generation as it was before the snapshot was taken.
	// Pods updated later are spared.
	Generation uint64
	// ExcludedSources lists sources whose pods are left alone, because absence from the
	// snapshot does not mean that they are not desired.
	ExcludedSources []string
	// Removed lists pods that their source has removed: ExcludedSources does not spare them. It
	// means nothing for a pod that is in Desired, or was updated after Generation.
	Removed []types.UID
	// AllSources: every source has delivered. From then on, for ever, the
	// answers about unknown pods are the later ones.
	AllSources bool
}

// PodState is what SyncKnown tells of a pod that the table still knows.
type PodState struct {
	UID       types.UID
	Phase     Phase
	Orphan    bool // not desired, and not spared
	HasConfig bool // more is known than what the runtime shows
	Static    bool
}

// SyncKnown compares the table with a snapshot of the desired state, appends to states
// every pod that it still knows afterwards, in the order of Ref.Index, and returns that.
// Pods that are not in the snapshot are terminated, and forgotten once they are
// finished. It is called by housekeeping, every few seconds, and costs one look-up per
// desired pod and one step for each of the pods that were ever known at the same time.
func (t *Table) SyncKnown(known Known, states []PodState, out *Effects) []PodState {
	t.synced = t.synced || known.AllSources
	t.epoch++
	for _, uid := range known.Desired {
		if r := t.find(uid); r != nil {
			r.seen = t.epoch
		}
	}
	t.exclude(known.ExcludedSources)
	removed := make(map[types.UID]bool, len(known.Removed))
	for _, uid := range known.Removed {
		removed[uid] = true
	}
	for slot := uint32(1); slot <= t.slots.used; slot++ {
		r := t.slots.at(slot)
		if !r.used() {
			continue
		}
		orphan := r.seen != t.epoch && !t.isExcluded(r, known.Generation, removed)
		if orphan && !t.orphaned(r, out) {
			continue
		}
		states = append(states, PodState{
			UID: r.uid, Phase: r.stage.Phase(), Orphan: orphan,
			HasConfig: r.latches.has(config), Static: r.latches.has(static),
		})
	}
	return states
}

// exclude marks the sources that are to be left alone.
func (t *Table) exclude(sources []string) {
	t.excluded = t.excluded[:0]
	for _, o := range t.sources {
		excluded := false
		for _, s := range sources {
			excluded = excluded || s == o
		}
		t.excluded = append(t.excluded, excluded)
	}
}

// isExcluded is true if the snapshot proves nothing against r: it is older than
// what was said of r last, or can not speak for the source that said it, unless that source
// has removed r. A pod that only the runtime knows comes from no source.
func (t *Table) isExcluded(r *record, generation uint64, removed map[types.UID]bool) bool {
	said, source := r.generation, r.source
	if n := r.successor(); n != nil {
		said, source = max(said, n.generation), n.source
	}
	return said > generation || source != 0 && t.excluded[source-1] && !removed[r.uid]
}

// orphaned ends a pod that is not wanted, and returns false if it is forgotten.
// A pod that has ended, or has never begun, needs no work.
func (t *Table) orphaned(r *record, out *Effects) bool {
	t.discard(r, out)
	if r.stage == StageFinished || !r.latches.has(started|observed) {
		t.forget(r, NeverStarted, out)
		return false
	}
	r.latches |= deleted
	if r.stage != StageSyncing {
		return true // it has its own retries
	}
	t.move(r, asked, out)
	r.shorten(Grace{}, Grace{})
	if !r.pending {
		r.pending, r.reason = true, SyncPodSync
	}
	t.schedule(r, true, out)
	return true
}
