package syncloop

import "time"

// graces has the end of the orphan grace of each source. During the grace, running pods of an earlier agent
// that the source does not name keep running, because their manifests may be late: for example their directory
// is mounted after the agent has started. The grace starts when the source is complete for the first time.
type graces struct {
	grace         time.Duration
	completeSince map[string]time.Time // by source: the time when it was complete for the first time
}

// newGraces returns graces in which no source has started its grace. The grace of a source is the time after
// its first complete list in which it may still name pods that an earlier process of the agent has started. A
// negative duration counts as zero.
func newGraces(grace time.Duration) graces {
	return graces{grace: max(grace, 0), completeSince: make(map[string]time.Time)}
}

// startGraceOnce starts the grace of a source at now. Later calls for the same source have no effect.
func (g *graces) startGraceOnce(source string, now time.Time) {
	if _, before := g.completeSince[source]; !before {
		g.completeSince[source] = now
	}
}

// latestGraceEnd returns the time when the graces of all these sources are over. allStarted is false if the
// grace of one of them has not started.
func (g *graces) latestGraceEnd(sources []string) (end time.Time, allStarted bool) {
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
