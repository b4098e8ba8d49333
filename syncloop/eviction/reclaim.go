package eviction

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxReclaimDelay limits the time between two reclaims while no pod can be evicted. The image collector of the
	// kubelet has the same period.
	maxReclaimDelay = 5 * time.Minute
	// reclaimChangeParts is the part of the capacity by which a signal has to change so that the node reclaims again
	// at once: one of 100 parts.
	reclaimChangeParts = 100
)

// pastReclaim is the last reclaim for a threshold.
type pastReclaim struct {
	threshold thresholdKey
	at        time.Time
	delay     time.Duration      // until the next one, unless something changes
	available int64              // the value of the signal before it
	pods      map[types.UID]bool // the pods that had not stopped
}

// shouldReclaim reports whether the pass reclaims these kinds for a threshold, and returns how long later passes then
// wait. A pass that may evict a pod always reclaims first. The first pass for a threshold reclaims too. While no pod can
// be evicted, each reclaim doubles the wait for the next one, from Policy.Period to maxReclaimDelay: a full disk without
// a pod to evict would otherwise list all images and containers every 10 seconds. The wait ends early when something
// has changed. The result is false if the last pass reclaimed for the same file system. (EV-14, EV-17)
func (s *pass) shouldReclaim(t Threshold, kinds []ReclaimKind) (should bool, delay time.Duration) {
	if len(kinds) == 0 || s.last.reclaimedFor != "" && sharesFilesystem(s.last.reclaimedFor, t.Signal, s.observed.Layout) {
		return false, 0
	}
	last, ok := s.next.reclaims[kinds[0]]
	if !ok || last.threshold != t.historyKeyWithoutValue() || s.hasEvictablePod(t) || s.hasChangedSince(last) {
		return true, s.policy.Period
	}
	return !s.now.Before(last.at.Add(last.delay)), min(2*last.delay, max(maxReclaimDelay, s.policy.Period))
}

// hasEvictablePod reports whether the pass may evict a pod for the threshold. It does not look at the usage of pods,
// which the caller measures only for a victim.
func (s *pass) hasEvictablePod(t Threshold) bool {
	for i := range s.pods {
		if s.judgeCandidate(t, &s.pods[i]) == evictCandidate {
			return true
		}
	}
	return false
}

// hasChangedSince reports whether a new reclaim may find something: a pod has stopped since the last one, or the value
// of the signal has changed by a hundredth of its capacity. Such a change means that the last reclaim has freed
// something, or that the pressure is worse.
func (s *pass) hasChangedSince(last pastReclaim) bool {
	o := s.observed.Signals[last.threshold.signal]
	if change := o.Available - last.available; max(change, -change) > o.Capacity/reclaimChangeParts {
		return true
	}
	present := s.podsNotStopped()
	for uid := range last.pods {
		if !present[uid] {
			return true
		}
	}
	return false
}

// podsNotStopped returns the UIDs of the pods whose containers have not stopped.
func (s *pass) podsNotStopped() map[types.UID]bool {
	uids := make(map[types.UID]bool, len(s.pods))
	for i := range s.pods {
		if !s.pods[i].Stopped {
			uids[s.pods[i].pod.UID] = true
		}
	}
	return uids
}

// recordReclaim makes the decision reclaim these kinds for a threshold, and stores how long later passes wait.
func (s *pass) recordReclaim(t Threshold, kinds []ReclaimKind, delay time.Duration) {
	s.decision.Acting, s.decision.Reclaim, s.decision.NextAt = &t, kinds, s.now
	s.next.reclaimedFor = t.Signal
	s.next.reclaims[kinds[0]] = pastReclaim{
		threshold: t.historyKeyWithoutValue(), at: s.now, delay: delay,
		available: s.observed.Signals[t.Signal].Available, pods: s.podsNotStopped(),
	}
}

// forgetReclaims deletes the reclaims of thresholds that are no longer met. When such a threshold is met again, the
// node reclaims at once.
func (s *pass) forgetReclaims() {
	maps.DeleteFunc(s.next.reclaims, func(_ ReclaimKind, last pastReclaim) bool { return !s.next.acted[last.threshold] })
}
