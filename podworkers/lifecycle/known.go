package lifecycle

import "k8s.io/apimachinery/pkg/types"

// DesiredSnapshot is a snapshot of the whole desired state: all pods that should exist.
type DesiredSnapshot struct {
	// Desired is every desired pod of the node, in any order.
	Desired []types.UID
	// Generation is Table.Generation from before the snapshot was taken. SyncKnown terminates no
	// pod that was updated later. It returns such a pod without Orphan.
	Generation uint64
	// ExcludedSources lists sources for which the snapshot may be incomplete. A pod of such a
	// source is not terminated because it is missing.
	ExcludedSources []string
	// Removed lists pods that their source has removed. They are terminated even if the source is
	// excluded. A UID has no effect here if it is in Desired or was updated after Generation.
	Removed []types.UID
	// AllSources is true if every source has delivered. From the first such call on, the table
	// gives the later answers about unknown pods, for ever.
	AllSources bool
}

// PodState is the state of one pod after SyncKnown.
type PodState struct {
	UID       types.UID
	Phase     Phase
	Orphan    bool // missing in the snapshot, and neither excluded nor updated after the snapshot
	HasConfig bool // a source has delivered the pod
	Static    bool
}

// SyncKnown compares the table with a snapshot of the desired state. Pods that are missing in the
// snapshot are terminated, and forgotten once they are finished. SyncKnown appends every pod that
// the table still knows to states, in the order of Ref.Index. Housekeeping calls it every few
// seconds. It costs one lookup per desired pod and one step per record slot.
func (t *Table) SyncKnown(snapshot DesiredSnapshot, states []PodState, out *Effects) []PodState {
	t.allSourcesDelivered = t.allSourcesDelivered || snapshot.AllSources
	t.syncKnownEpoch++
	for _, uid := range snapshot.Desired {
		if r := t.findRecord(uid); r != nil {
			r.desiredEpoch = t.syncKnownEpoch
		}
	}
	t.setExcludedSources(snapshot.ExcludedSources)
	removed := make(map[types.UID]bool, len(snapshot.Removed))
	for _, uid := range snapshot.Removed {
		removed[uid] = true
	}
	for slot := uint32(1); slot <= t.slots.highestUsed; slot++ {
		r := t.slots.at(slot)
		if !r.isUsed() {
			continue
		}
		orphan := r.desiredEpoch != t.syncKnownEpoch && !t.isExemptFromOrphanTermination(r, snapshot.Generation, removed)
		if orphan && !t.terminateOrForgetOrphan(r, out) {
			continue
		}
		states = append(states, PodState{
			UID: r.uid, Phase: r.stage.Phase(), Orphan: orphan,
			HasConfig: r.flags.hasAny(flagHasConfig), Static: r.flags.hasAny(flagStatic),
		})
	}
	return states
}

// setExcludedSources sets t.excluded: for each source of the table, in the order of t.sources, whether
// excludedSources contains it.
func (t *Table) setExcludedSources(excludedSources []string) {
	t.excluded = t.excluded[:0]
	for _, o := range t.sources {
		excluded := false
		for _, s := range excludedSources {
			excluded = excluded || s == o
		}
		t.excluded = append(t.excluded, excluded)
	}
}

// isExemptFromOrphanTermination reports whether r must not be terminated although the snapshot of desired pods
// does not contain it. It returns true if r was updated after the snapshot. It also returns true if the
// snapshot leaves out r's source, unless r is in removedBySource. If another pod waits under the UID, the later
// update and the waiting pod's source count.
func (t *Table) isExemptFromOrphanTermination(r *record, snapshotGeneration uint64, removedBySource map[types.UID]bool) bool {
	updated, source := r.generation, r.source
	if next := r.successor(); next != nil {
		updated, source = max(updated, next.generation), next.source
	}
	return updated > snapshotGeneration || source != 0 && t.excluded[source-1] && !removedBySource[r.uid]
}

// terminateOrForgetOrphan terminates a pod that is not desired, and discards the pod that waits under its UID.
// If the pod is finished, or never started and was not found in the runtime, it deletes the record, resolves
// its tickets and returns false. A termination that has already begun runs on.
func (t *Table) terminateOrForgetOrphan(r *record, out *Effects) (stillKnown bool) {
	t.discardSuccessor(r, out)
	if r.stage == StageFinished || !r.flags.hasAny(flagStarted|flagFoundInRuntime) {
		t.forgetRecord(r, NeverStarted, out)
		return false
	}
	r.flags |= flagDeleted
	if r.stage != StageSyncing {
		return true // A termination has its own retries.
	}
	t.moveStage(r, terminationRequested, out)
	r.shortenGrace(Grace{})
	if !r.pending {
		r.pending, r.reason = true, SyncPodSync
	}
	t.scheduleWork(r, true, out)
	return true
}
