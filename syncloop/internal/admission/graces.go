package admission

import (
	"time"
)

// Graces are those of the pods of each source. Make one with New.
type Graces struct {
	grace time.Duration
	heard map[string]time.Time // by source: when it was complete for the first time
}

// NewGraces is for sources none of which has been heard. Without a grace nothing is left
// alone.
func NewGraces(grace time.Duration) Graces {
	return Graces{grace: max(grace, 0), heard: make(map[string]time.Time)}
}

// Heard says that a source is complete. Only the first time counts.
func (g *Graces) Heard(source string, now time.Time) {
	if _, before := g.heard[source]; !before {
		g.heard[source] = now
	}
}

// Until is when the grace of pods of these sources is over. It is false as long as
// one of them has not been heard.
func (g *Graces) Until(sources []string) (time.Time, bool) {
	var last time.Time
	for _, source := range sources {
		at, heard := g.heard[source]
		if !heard {
			return time.Time{}, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Add(g.grace), true
}

// Claimed reports whether a pod that stays, or waits, needs the name or a host port
// of this one.
func Claimed(orphan Item, staying *Sums) bool {
	for _, other := range staying.Named(orphan.Namespace, orphan.Name) {
		if other.UID != orphan.UID {
			return true
		}
	}
	for _, port := range orphan.Ports {
		if holder, taken := staying.Holder(port); taken && holder.UID != orphan.UID {
			return true
		}
	}
	return false
}
