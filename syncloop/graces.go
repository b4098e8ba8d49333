package syncloop

import "time"

// graces are how long the pods of each source are left alone that an earlier agent has started and
// that no source names: their manifests may be late, as on a directory that is mounted after the agent
// has started. A grace begins when the source is complete for the first time. When it is over nothing
// is left alone any more, whenever it is observed.
type graces struct {
	grace         time.Duration
	completeSince map[string]time.Time // by source: when it was complete for the first time
}

// newGraces is for sources none of which is complete. Without a grace nothing is left alone.
func newGraces(grace time.Duration) graces {
	return graces{grace: max(grace, 0), completeSince: make(map[string]time.Time)}
}

// recordComplete notes that a source is complete. Only the first time counts.
func (g *graces) recordComplete(source string, now time.Time) {
	if _, before := g.completeSince[source]; !before {
		g.completeSince[source] = now
	}
}

// graceEnd is when the grace of pods of these sources is over. It is false as long as one of the sources
// has never been complete.
func (g *graces) graceEnd(sources []string) (time.Time, bool) {
	var last time.Time
	for _, source := range sources {
		at, heard := g.completeSince[source]
		if !heard {
			return time.Time{}, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Add(g.grace), true
}
