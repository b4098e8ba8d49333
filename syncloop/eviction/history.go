package eviction

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// thresholdKey names a threshold of a policy.
type thresholdKey struct {
	signal Signal
	soft   bool
}

// History is what earlier passes have to pass to the next one. The zero value is the state of a new node. Decide
// does not change a History, so the caller may decide several times from the same one.
type History struct {
	// metSince is when each threshold was first met without a break.
	metSince map[thresholdKey]time.Time
	// acted has the thresholds that were met in the last pass and whose grace period had passed.
	acted map[thresholdKey]bool
	// pressureAt is when a threshold of the condition was last met.
	pressureAt map[v1.NodeConditionType]time.Time
	// observedAt is the time of the newest measurement of each signal, and firstAt the time of the first pass.
	observedAt map[Signal]time.Time
	firstAt    time.Time
	// reclaimedFor is the signal for which the last pass returned a Reclaim; empty if it returned none.
	reclaimedFor Signal
	// reclaims has the last reclaim for each file system, by the first kind that is reclaimed on it.
	reclaims map[ReclaimKind]pastReclaim
	// victim is the pod that was evicted last for pressure; its UID is empty if no pass waits for it.
	victim lastVictim
}

// lastVictim is an evicted pod that has perhaps not stopped yet.
type lastVictim struct {
	uid   types.UID
	soft  bool
	until time.Time // when passes do not wait for it any longer
}

// clone returns a copy that shares nothing with the history.
func (h History) clone() History {
	h.metSince, h.acted = cloneMap(h.metSince), cloneMap(h.acted)
	h.pressureAt, h.observedAt, h.reclaims = cloneMap(h.pressureAt), cloneMap(h.observedAt), cloneMap(h.reclaims)
	return h
}

// cloneMap returns a copy of a map that is not nil.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}
